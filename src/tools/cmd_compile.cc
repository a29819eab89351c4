// mcc-compile: a model and, if there is one, a tuning log -> the artifact. Nothing is measured; the same inputs give
// the same bytes.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/deadline.h"
#include "base/json.h"
#include "base/say.h"
#include "base/text.h"
#include "package/package.h"
#include "tools/log_choice.h"
#include "tools/tools.h"

namespace mcc {
namespace {

struct CompileArgs : BuildArgs {
  std::string log;
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
  LogChoice choice = choose_from_log(store, tasks);
  if (choice.not_applicable > 0)
    spdlog::warn("{}: {} tasks get the default schedule: what is logged for them no longer applies", log,
                 choice.not_applicable);
  const std::vector<std::string> devices = store.devices();
  const std::string own = device_key(options.target);
  if (!devices.empty() && std::find(devices.begin(), devices.end(), own) == devices.end())
    spdlog::warn("{}: has nothing for this device, {}; it was tuned for {}", log, own, join(devices, " and "));
  options.traces = std::move(choice.traces);
  options.record_ids = std::move(choice.record_ids);
  return static_cast<int>(options.traces.size());
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
  fmt::print("{}\n", json_text(summary));
}

bool parse(const Args& args, CompileArgs& into) {
  CLI::App app("Compiles a model with the log's best schedules, else the default ones. Measures nothing.", args[0]);
  into.add_to(app);
  app.add_option("--log", into.log, "tuning log to take schedules from");
  return parse_command_line(app, args);
}

}  // namespace

int cmd_compile(const Args& args) {
  CompileArgs a;
  if (!parse(args, a)) return 0;
  if (a.quiet) spdlog::set_level(spdlog::level::err);
  const Deadline start(0);
  PackageOptions options;
  options.target = a.chosen_target();
  options.emit = a.emit;
  options.strict = a.strict();
  options.model_name = a.model_name();
  options.out_dir = a.out_dir(options.target);
  check_out_dir(options.out_dir);
  const LoweredModel model = compile_model(a.model);
  const std::vector<Task> tasks = model_tasks(model, options.target, options.strict);
  const int tuned = take_traces(a.log, tasks, options);
  const Artifact artifact = package(model, options);
  const double seconds = start.elapsed();
  if (!a.quiet) {
    say("{}: {} kernels ({} tuned), {:.2f} MiB weights, {:.2f} MiB arena, {:.1f} s\n", artifact.folder.string(),
        tasks.size(), tuned, static_cast<double>(artifact.weight_bytes) / (1 << 20),
        static_cast<double>(artifact.arena_bytes) / (1 << 20), seconds);
  }
  if (a.json) print_json(a, options, artifact, tasks.size(), tuned, seconds);
  return 0;
}

}  // namespace mcc
