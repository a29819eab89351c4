// mcc-compile: a model and, if there is one, a tuning log -> the artifact. Nothing is measured; the same inputs give
// the same bytes.
#include <chrono>
#include <nlohmann/json.hpp>

#include "package/package.h"
#include "tools/tools.h"

namespace mcc {
namespace {

struct CompileArgs {
  ModelArgs model;
  std::string target = "host", log, emit = "so", out, numerics = "default";
  int threads = 0;
  bool json = false, quiet = false;
};

LoweredModel compile_model(const ModelArgs& model) {
  const Graph graph = import_onnx(model.file, model.import_options());  // names the file in its errors
  try {
    return compile_graph(graph);
  } catch (const Error& error) {
    fail("{}: {}", model.file, error.what());
  }
}

// The log's best trace of each task, where it has one.
int take_traces(const std::string& log, const std::vector<Task>& tasks, PackageOptions& options) {
  if (log.empty()) return 0;
  const RecordStore store = RecordStore::open(log, RecordStore::Mode::read_only);
  int found = 0;
  for (const Task& task : tasks) {
    const std::vector<Record> best = store.best(task.key, device_key(options.target), 1);
    if (best.empty()) continue;
    options.traces[task.key] = best[0].trace;
    options.record_ids[task.key] = best[0].id;
    found++;
  }
  return found;
}

void print_json(const CompileArgs& args, const PackageOptions& options, const Artifact& artifact, size_t tasks,
                int tuned, double seconds) {
  const nlohmann::ordered_json summary = {{"model", args.model.file},
                                          {"target", options.target.name},
                                          {"threads", options.target.cores},
                                          {"emit", options.emit},
                                          {"tasks", tasks},
                                          {"tuned_tasks", tuned},
                                          {"numerics", args.numerics},
                                          {"seconds", seconds},
                                          {"peak_arena_bytes", artifact.arena_bytes},
                                          {"weight_bytes", artifact.weight_bytes},
                                          {"code_bytes", artifact.code_bytes},
                                          {"artifact", artifact.folder.string()}};
  fmt::print("{}\n", summary.dump());
}

bool parse(const Args& args, CompileArgs& into) {
  CLI::App app("Compiles a model with the log's best schedules, else the default ones. Measures nothing.", args[0]);
  into.model.add_to(app);
  app.add_option("--target", into.target, "name or JSON file of the device (mcc targets lists them)");
  app.add_option("--log", into.log, "tuning log to take schedules from");
  app.add_option("--threads", into.threads, "threads the artifact uses; default: the target's cores");
  app.add_option("--emit", into.emit, "so, a, obj, exe or c");
  app.add_option("-o,--output", into.out, "folder of the artifact; default: MODEL.mcc here");
  add_numerics(app, into.numerics);
  app.add_flag("--json", into.json, "print one JSON object on standard output");
  app.add_flag("--quiet", into.quiet, "print nothing for people");
  return parse_command_line(app, args);
}

}  // namespace

int cmd_compile(const Args& args) {
  CompileArgs a;
  if (!parse(args, a)) return 0;
  const auto start = std::chrono::steady_clock::now();
  const std::string stem = std::filesystem::path(a.model.file).stem().string();
  PackageOptions options;
  options.target = target_with_threads(a.target, a.threads);
  options.emit = a.emit;
  options.strict = a.numerics == "strict";
  options.model_name = stem;
  options.out_dir = a.out.empty() ? stem + ".mcc" : a.out;
  check_out_dir(options.out_dir);
  const LoweredModel model = compile_model(a.model);
  const std::vector<Task> tasks = model_tasks(model, options.target, options.strict);
  const int tuned = take_traces(a.log, tasks, options);
  const Artifact artifact = package(model, options);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!a.quiet) {
    fmt::print(stderr, "{}: {} kernels ({} tuned), {:.2f} MiB weights, {:.2f} MiB arena, {:.1f} s\n",
               artifact.folder.string(), tasks.size(), tuned, static_cast<double>(artifact.weight_bytes) / (1 << 20),
               static_cast<double>(artifact.arena_bytes) / (1 << 20), seconds);
  }
  if (a.json) print_json(a, options, artifact, tasks.size(), tuned, seconds);
  return 0;
}

}  // namespace mcc
