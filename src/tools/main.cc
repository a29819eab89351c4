// The program: `mcc COMMAND ...`, or the same under the name mcc-COMMAND. Errors are caught here and nowhere else:
// exit status 2 for bad usage or input (one line: what, where, what to do), 1 when the job failed.
#include <fcntl.h>
#include <signal.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <span>

#include "base/say.h"
#include "base/text.h"
#include "measure/runner.h"
#include "tools/tools.h"

namespace mcc {
namespace {

struct Command {
  std::string_view name, help;
  int (*run)(const Args&);
};

int cmd_targets(const Args& args);

// Each row is a command of its own file, cmd_NAME.cc.
constexpr Command kCommands[] = {
    {"bench", "compares artifacts and peers in latency, interleaved in one run", cmd_bench},
    {"compile", "makes the artifact of a model from a tuning log, measuring nothing", cmd_compile},
    {"log", "shows, merges, exports and imports tuning logs", cmd_log},
    {"opt", "runs one stage of the compiler from text to text", cmd_opt},
    {"run", "runs an artifact and times it", cmd_run},
    {"targets", "lists the known targets", cmd_targets},
    {"tune", "finds the fastest program for a model on a target, by measuring", cmd_tune},
    {"verify", "compares an artifact with the reference", cmd_verify},
};

int cmd_targets(const Args& args) {
  CLI::App app("Lists the known targets; --json=NAME prints one as JSON, a start for a board of your own.",
               "mcc-targets");
  std::string name;
  app.add_option("--json", name, "print this target as JSON");
  if (!parse_command_line(app, args)) return 0;
  if (!name.empty()) return fmt::print("{}\n", to_json(find_target(name))), 0;
  for (const std::string& known : target_names()) fmt::print("{}\n", known);
  return 0;
}

void print_usage(std::FILE* to) {
  fmt::print(to, "usage: mcc COMMAND ...   (or mcc-COMMAND ...)\n\n");
  for (const Command& command : kCommands) fmt::print(to, "  {:<9}{}\n", command.name, command.help);
  fmt::print(to, "\nmcc COMMAND --help tells a command's options.\n");
}

int run(Args args) {
  if (args.size() == 2 && args[1] == "--measure-child") return measure_child_main();
  const std::string program = std::filesystem::path(args[0]).filename().string();
  if (program.starts_with("mcc-")) {
    args[0] = program.substr(4);
  } else {
    args.erase(args.begin());
    if (args.empty()) return print_usage(stderr), 2;
    if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") return print_usage(stdout), 0;
  }
  for (const Command& command : kCommands) {
    if (args[0] != command.name) continue;
    args[0] = "mcc-" + args[0];
    return command.run(args);
  }
  fail("mcc: there is no command '{}'; see mcc --help", args[0]);
}

// Standard streams that were closed: what is written there is lost, not what a file that took their place holds.
void keep_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", O_RDONLY);
}

// What was printed may still wait in a buffer: a disk that is full, or a reader that is gone, shows here at the latest.
int with_output_written(int status) {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout) return status;
  say("standard output cannot be written\n");
  return status == 0 ? 1 : status;
}

int run_and_report(Args args) {
  try {
    return with_output_written(run(std::move(args)));
  } catch (const Error& error) {
    say("{}\n", one_line(error.what()));
    return 2;
  } catch (const std::bad_alloc&) {
    say("out of memory\n");
    return 1;
  } catch (const std::exception& error) {  // JobError among them
    say("{}\n", one_line(error.what()));
    return 1;
  }
}

}  // namespace
}  // namespace mcc

int main(int argc, char** argv) {
  mcc::keep_standard_streams();
  signal(SIGXFSZ, SIG_IGN);  // a file beyond the size limit is an error of that write, not the end of the process
  setenv("LLVM_DISABLE_SYMBOLIZATION", "1", 1);  // a linker that crashes leaves no files of its own behind
  spdlog::set_default_logger(spdlog::stderr_color_mt("mcc"));  // standard output holds results only
  spdlog::set_pattern("%^%l%$: %v");
  return mcc::run_and_report({argv, argv + argc});
}
