// The commands of the program, one file each. A command parses its own arguments (args[0] is its name), throws Error
// for bad usage or input and JobError when the job failed, prints its one JSON object on standard output when asked to,
// and everything for people on standard error.
#pragma once
#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "base/base.h"
#include "frontend/frontend.h"
#include "target/target.h"

namespace mcc {

using Args = std::vector<std::string>;

int cmd_bench(const Args& args);
int cmd_compile(const Args& args);
int cmd_log(const Args& args);
int cmd_opt(const Args& args);
int cmd_run(const Args& args);
int cmd_tune(const Args& args);
int cmd_verify(const Args& args);

// mcc-log train. `except`: tasks whose names contain one of these are left out.
int train_cost_model(const std::vector<std::string>& files, const std::vector<std::string>& except,
                     const std::string& output, bool as_json);

// Parses with CLI11; throws Error with one line for bad usage. Returns false when --help was printed.
bool parse_command_line(CLI::App& app, const Args& args);

// The options that every command with a MODEL takes: --shape, --dim, --bind.
struct ModelArgs {
  std::string file;
  std::vector<std::string> shapes, dims, binds;
  void add_to(CLI::App& app);
  ImportOptions import_options() const;  // throws Error for a malformed option
};

// --target, by name or file.
void add_target(CLI::App& app, std::string& target);

// The options of mcc-tune and mcc-compile: what is to be made of the model, for which device.
struct BuildArgs {
  ModelArgs model;
  std::string target = "host", emit = "so", out, numerics = "default";
  int threads = 0;  // 0: the target's cores
  bool json = false, quiet = false;
  void add_to(CLI::App& app);
  std::string model_name() const;                       // of the file, without folder and ending
  Target chosen_target() const;                         // cores: --threads when given
  std::string out_dir(const Target& target) const;      // -o, or MODEL.TARGET
  bool strict() const { return numerics == "strict"; }  // no algorithm that rounds otherwise than the direct one
};

}  // namespace mcc
