// mcc-bench: latency of artifacts and peers, interleaved in one run. Each model is compiled (or is an artifact
// already), then every side runs in turn, in a process of its own, for several passes; how they compare is told in
// ratios, because times hold only for this machine and moment. A peer is any executable DIR/peer-NAME of --peers=DIR
// (bench/setup.sh makes such a folder, bench/peer.h tells how they are called); DIR/peak measures the machine's limits.
#include <unistd.h>

#include <fstream>

#include "base/file.h"
#include "base/json.h"
#include "base/process.h"
#include "base/say.h"
#include "base/text.h"
#include "bench/report.h"
#include "bench/steps.h"
#include "passes/passes.h"
#include "tools/artifact.h"
#include "tools/tools.h"

namespace mcc {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
constexpr double kLimitS = 3600;
constexpr int kNoSuchOp = 3;  // a peer's exit status
// ModelArgs, as the settings file has them.
constexpr std::string_view kModelOptions[] = {"shape", "dim", "bind"};

struct BenchArgs {
  std::vector<std::string> models, peers_wanted, threads{"1"};
  std::string peers, log, target = "host", artifacts, settings, plot;
  int passes = 3;
  double seconds = 0.3;
  bool kernels = false, start_up = false, json = false;
  Json options_of = Json::object();  // the settings: model name -> options
};

std::string message(const std::string& text) { return one_line(std::string(trim(text))); }

// The JSON object in the last line of what a program printed.
Json report_of(const std::string& program, const ProcessResult& result) {
  if (result.exit_code != 0)
    throw JobError(
        fmt::format("{} (status {}, signal {}): {}", program, result.exit_code, result.signal, message(result.err)));
  const std::string_view out = trim(result.out);
  const Json report = Json::parse(out.substr(out.find_last_of('\n') + 1), nullptr, false);
  if (!report.is_object()) throw JobError(fmt::format("{}: printed no JSON object in its last line", program));
  return report;
}

Json run_for_json(const std::vector<std::string>& command) {
  return report_of(command[0], run_process(command, kLimitS));
}

std::vector<std::string> mcc_command(const std::string& command) { return {kThisProgram, command}; }

void check_settings(const std::string& where, const Json& own) {
  if (!own.is_object()) fail("{}: want an object, like {{shape: [..], bind: [..]}}", where);
  for (const auto& [option, values] : own.items()) {
    if (option == "tolerance") continue;  // for programs that compare outputs
    if (std::find(std::begin(kModelOptions), std::end(kModelOptions), option) == std::end(kModelOptions))
      fail("{}: there is no '{}'; known are {} and tolerance", where, option, join(kModelOptions, ", "));
    if (!values.is_array() || !std::all_of(values.begin(), values.end(), [](const Json& v) { return v.is_string(); }))
      fail("{}: {}: want a list of texts", where, option);
  }
}

Json read_settings(const std::string& file) {
  if (file.empty()) return Json::object();
  Json settings = Json::parse(read_file(file), nullptr, false);
  if (!settings.is_object()) fail("--settings={}: want a JSON object {{NAME: {{shape: [..], bind: [..]}}}}", file);
  for (const auto& [name, own] : settings.items()) check_settings(fmt::format("--settings={}: '{}'", file, name), own);
  return settings;
}

// What a model needs to be imported: its --shape, --dim and --bind options from the settings file.
std::vector<std::string> model_options(const BenchArgs& args, const std::string& name) {
  const Json own = args.options_of.value(name, Json::object());
  std::vector<std::string> options;
  for (const std::string_view option : kModelOptions) {
    for (const Json& value : own.value(option, Json::array()))
      options.push_back(fmt::format("--{}={}", option, value.get<std::string>()));
  }
  return options;
}

// One model at one number of threads: what is run, and where its files lie.
struct Subject {
  std::string model, name;  // model: an ONNX file, or an artifact
  int threads = 1;
  std::vector<std::string> options;
  fs::path artifact, steps;
  bool given = false;  // as an artifact
};

void compile(const BenchArgs& args, const Subject& s, const fs::path& out, const std::string& emit) {
  std::vector<std::string> command = mcc_command("compile");
  command.insert(command.end(), {s.model, "--quiet", "--target=" + args.target, fmt::format("--threads={}", s.threads),
                                 "--emit=" + emit, "-o", out.string()});
  command.insert(command.end(), s.options.begin(), s.options.end());
  const fs::path log = fs::is_directory(args.log) ? fs::path(args.log) / (s.name + ".db") : fs::path(args.log);
  if (!log.empty() && fs::exists(log)) command.push_back("--log=" + log.string());
  const ProcessResult result = run_process(command, kLimitS);
  if (result.exit_code != 0) throw JobError(fmt::format("{}: does not compile: {}", s.model, message(result.err)));
}

ModelArgs import_args(const Subject& s) {
  ModelArgs args;
  CLI::App app;
  args.add_to(app);
  Args words = {"import", s.model};
  words.insert(words.end(), s.options.begin(), s.options.end());
  parse_command_line(app, words);
  return args;
}

Subject prepare(const BenchArgs& args, const std::string& model, int threads, const fs::path& folder) {
  Subject s;
  s.model = model;
  s.threads = threads;
  s.given = fs::is_directory(model);
  s.name = s.given ? fs::path(model).filename().string() : fs::path(model).stem().string();
  if (s.given) {
    s.artifact = model;
    return s;
  }
  s.options = model_options(args, s.name);
  s.artifact = folder / fmt::format("{}.{}", s.name, threads);
  s.steps = folder / fmt::format("{}.{}.json", s.name, threads);
  compile(args, s, s.artifact, "so");
  const Graph graph = import_onnx(model, import_args(s).import_options());
  write_file(s.steps, json_text(peer_steps(run_passes(graph, {{"lay_out"}, nullptr}))));
  return s;
}

// --- the sides ------------------------------------------------------------------------------------------------------

Json run_mcc(const Subject& s, i64 repeat, const fs::path& profile = {}) {
  std::vector<std::string> command = mcc_command("run");
  command.insert(command.end(), {s.artifact.string(), "--json", fmt::format("--threads={}", s.threads),
                                 fmt::format("--repeat={}", repeat)});
  if (!profile.empty()) command.push_back("--profile=" + profile.string());
  return run_for_json(command);
}

// How many runs take the wanted time.
i64 repeats(const BenchArgs& args, const Subject& s) {
  const double ms = run_mcc(s, 5).at("min_ms");
  return std::clamp(static_cast<i64>(args.seconds * 1e3 / std::max(ms, 1e-4)), i64{10}, i64{200000});
}

struct Peer {
  std::string name;
  fs::path program;
};
std::vector<Peer> find_peers(const BenchArgs& args) {
  std::vector<Peer> peers;
  if (args.peers.empty()) return peers;
  if (!fs::is_directory(args.peers)) fail("--peers={}: no such folder; bench/setup.sh makes one", args.peers);
  for (const auto& entry : fs::directory_iterator(args.peers)) {
    const std::string file = entry.path().filename().string();
    if (!file.starts_with("peer-") || access(entry.path().c_str(), X_OK) != 0) continue;
    const std::string name = file.substr(5);
    const auto& wanted = args.peers_wanted;
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end())
      peers.push_back({name, fs::absolute(entry.path())});
  }
  std::sort(peers.begin(), peers.end(), [](const Peer& a, const Peer& b) { return a.name < b.name; });
  return peers;
}

// One pass of a peer; adds nothing when it cannot run this model.
void run_peer(const BenchArgs& args, const Subject& s, const Peer& peer, Side& side) {
  std::vector<std::string> command = {peer.program.string(), s.model, s.steps.string(),
                                      fmt::format("--threads={}", s.threads),
                                      fmt::format("--seconds={}", args.seconds)};
  command.insert(command.end(), s.options.begin(), s.options.end());
  const ProcessResult result = run_process(command, kLimitS);
  if (result.exit_code == kNoSuchOp) return;
  try {
    side.add(report_of(command[0], result));
  } catch (const Json::exception&) {
    throw JobError(fmt::format("{}: its JSON object lacks the numbers min_ms and median_ms", command[0]));
  }
}

void run_passes_of_sides(const BenchArgs& args, const Subject& s, std::vector<Peer> peers, BenchRow& row) {
  if (s.given) peers.clear();  // nothing for them to read
  row.sides.push_back({"mcc"});
  std::vector<Side> sides;
  for (const Peer& peer : peers) sides.push_back({peer.name});
  const i64 repeat = repeats(args, s);
  for (int pass = 0; pass < args.passes; pass++) {
    row.sides[0].add(run_mcc(s, repeat));
    for (size_t p = 0; p < peers.size(); p++) {
      if (pass == 0 || !sides[p].min_ms.empty()) run_peer(args, s, peers[p], sides[p]);
    }
  }
  for (Side& side : sides) {
    if (!side.min_ms.empty()) row.sides.push_back(std::move(side));
  }
}

// --- what else is told about mcc ------------------------------------------------------------------------------------

void time_kernels(const BenchArgs& args, const Subject& s, const fs::path& scratch, BenchRow& row) {
  const fs::path file = scratch / "profile.json";
  run_mcc(s, std::min<i64>(repeats(args, s), 200), file);
  std::map<int, std::vector<double>> ms_of_step;
  const Json trace = Json::parse(read_file(file));
  for (const Json& event : trace.at("traceEvents"))
    ms_of_step[event.at("args").at("step")].push_back(event.at("dur").get<double>() * 1e-3);
  const ArtifactInfo info = read_artifact(s.artifact);
  for (auto& [step, ms] : ms_of_step) {
    const ArtifactInfo::Kernel& kernel = info.kernels.at(static_cast<size_t>(step));
    std::sort(ms.begin(), ms.end());
    row.kernels.push_back({kernel.name, ms.front(), ms[ms.size() / 2], kernel.flops, kernel.bytes});
  }
}

Resident resident_memory(const BenchArgs& args, const Subject& s, const fs::path& scratch) {
  const fs::path folder = scratch / "program";
  compile(args, s, folder, "exe");
  const ArtifactInfo info = read_artifact(folder);
  i64 needed = info.weight_bytes + info.arena_bytes;
  for (const ArtifactInfo::Port& port : info.inputs) needed += bytes(port.type);
  for (const ArtifactInfo::Port& port : info.outputs) needed += bytes(port.type);
  const Json report =
      run_for_json({(folder / "model").string(), "--json", "--repeat=1", fmt::format("--threads={}", s.threads)});
  return {report.at("peak_rss_kib"), needed / 1024};
}

MachineLimits machine_limits(const BenchArgs& args) {
  const fs::path program = fs::path(args.peers) / "peak";
  if (args.peers.empty() || !fs::exists(program)) return {};
  const Json limits = run_for_json({fs::absolute(program).string()});
  return {limits.at("fma_gflops_best"), limits.at("read_gbs")};
}

// --- the whole -------------------------------------------------------------------------------------------------------

BenchRow bench_model(const BenchArgs& args, const std::string& model, int threads, const std::vector<Peer>& peers,
                     const fs::path& folder) {
  const TempDir scratch;
  const Subject s = prepare(args, model, threads, folder);
  BenchRow row{s.name, threads, {}, {}, {}};
  run_passes_of_sides(args, s, peers, row);
  if (args.kernels) time_kernels(args, s, scratch.path(), row);
  if (args.start_up && !s.given) row.resident = resident_memory(args, s, scratch.path());
  return row;
}

bool parse(const Args& words, BenchArgs& into) {
  CLI::App app("Latency of artifacts and peers, interleaved in one run.", words[0]);
  app.add_option("MODEL", into.models, "ONNX files, compiled here, or artifacts")->required();
  app.add_option("--peers", into.peers, "folder of the programs to compare with, peer-NAME (bench/setup.sh makes one)");
  app.add_option("--peer", into.peers_wanted, "only this peer (repeatable)");
  app.add_option("--threads", into.threads, "numbers of threads")->delimiter(',')->capture_default_str();
  app.add_option("--passes", into.passes, "how often each side runs")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seconds", into.seconds, "of each timed run")->check(CLI::PositiveNumber)->capture_default_str();
  add_target(app, into.target);
  app.add_option("--log", into.log, "tuning log, or a folder with MODEL.db of each model");
  app.add_option("--settings", into.settings,
                 "JSON file with the options of models: {NAME: {shape: [..], bind: [..]}}");
  app.add_option("--artifacts", into.artifacts, "folder that keeps the artifacts");
  app.add_option("--plot", into.plot, "file for a plot (SVG)");
  app.add_flag("--kernels", into.kernels, "each kernel's time and share of the machine's limits");
  app.add_flag("--start-up", into.start_up, "also the time to load and run once, and the program's resident memory");
  app.add_flag("--json", into.json, "print one JSON object on standard output");
  return parse_command_line(app, words);
}

int thread_count(const std::string& text) {
  const auto count = to_i64(text);
  if (!count || *count < 1 || *count > 1024) fail("--threads={}: want numbers like 1,2", text);
  return static_cast<int>(*count);
}

}  // namespace

int cmd_bench(const Args& words) {
  BenchArgs args;
  if (!parse(words, args)) return 0;
  args.options_of = read_settings(args.settings);
  const TempDir scratch;
  const fs::path folder = args.artifacts.empty() ? scratch.path() : fs::path(args.artifacts);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail("--artifacts={}: cannot make this folder: {}", args.artifacts, error.message());
  for (const std::string& model : args.models) {
    if (!fs::exists(model, error)) fail("{}: no such file", model);
  }
  const std::vector<Peer> peers = find_peers(args);
  BenchReport report{machine_limits(args), args.passes, args.seconds, {}};
  say(table_head(report));
  int failed = 0;
  for (const std::string& threads : args.threads) {
    for (const std::string& model : args.models) {
      try {
        report.rows.push_back(bench_model(args, model, thread_count(threads), peers, folder));
        say(table_row(report.rows.back(), report.limits));
      } catch (const JobError& error) {
        failed++;
        say("{}\n", error.what());
      }
    }
  }
  if (!args.plot.empty()) write_file(args.plot, to_svg(report));
  say(table_foot(report));
  if (args.json) fmt::print("{}\n", json_text(to_json(report)));
  return failed ? 1 : 0;
}

}  // namespace mcc
