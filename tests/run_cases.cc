// Runs text cases: run_cases --mcc=PROGRAM [--update] DIR|FILE...
//
// A .case file starts with what it shows, in words, then has sections:
//   --- input           the text that becomes the input file
//   --- run             a shell command; `mcc` is the program under test, %s the input file, %t a folder of its own
//   --- output          what it must print on standard output, with exit status 0
// or, in place of the last:
//   --- error           exit status 2, and each line here occurs in standard error
// --update rewrites the output sections that differ; the change is reviewed like code. Cases run in parallel, each with
// a time limit; differences are shown as `diff -u` does, and the last line reads "N passed, M failed".
#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "base/file.h"
#include "base/process.h"
#include "base/text.h"

namespace mcc {
namespace {

namespace fs = std::filesystem;
constexpr double kLimitSeconds = 120;

struct Case {
  std::string head;  // everything up to the last section's first line
  std::string input, command, expected;
  bool error = false;
};

Case parse_case(const std::string& text) {
  Case c;
  std::string ignored;
  std::string* section = &ignored;
  bool last = false;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string line = text.substr(at, end - at);
    const std::string_view word = line.starts_with("--- ") ? trim(std::string_view(line).substr(4)) : "";
    at = end;
    if (word == "input")
      section = &c.input;
    else if (word == "run")
      section = &c.command;
    else if (word == "output" || word == "error")
      section = &c.expected, last = true, c.error = word == "error";
    else if (!word.empty())
      fail("unknown section '{}'", word);
    else
      *section += line;
    if (!last || !word.empty()) c.head += line;
  }
  if (trim(c.command).empty()) fail("has no '--- run' section");
  if (!last) fail("has neither an '--- output' nor an '--- error' section");
  return c;
}

std::string replace_all(std::string text, std::string_view what, std::string_view by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

ProcessResult run_command(const Case& c, const std::string& mcc, const fs::path& folder) {
  const fs::path input = folder / "input";
  write_file(input, c.input);
  std::string command = replace_all(c.command, "%s", input.string());
  command = replace_all(command, "%t", folder.string());
  return run_process({"sh", "-c", fmt::format("mcc() {{ '{}' \"$@\"; }}\n{}", mcc, command)}, kLimitSeconds);
}

std::string difference(const std::string& want, const std::string& got, const fs::path& folder) {
  write_file(folder / "expected", want);
  write_file(folder / "printed", got);
  const ProcessResult diff = run_process(
      {"diff", "-u", "--label=expected", "--label=printed", folder / "expected", folder / "printed"}, kLimitSeconds);
  return diff.out;
}

// What is wrong with the result, or nothing.
std::string judge(const Case& c, const ProcessResult& result, const fs::path& folder) {
  if (result.timed_out) return fmt::format("ran for more than {} s\n", kLimitSeconds);
  const int want = c.error ? 2 : 0;
  if (result.exit_code != want) {
    return fmt::format("exit status {} (signal {}), expected {}\n{}", result.exit_code, result.signal, want,
                       result.err);
  }
  if (!c.error) return result.out == c.expected ? "" : difference(c.expected, result.out, folder);
  std::string missing;
  for (const std::string& line : split(c.expected, '\n')) {
    if (result.err.find(line) == std::string::npos) missing += fmt::format("not in the error text: {}\n", line);
  }
  return missing.empty() ? "" : missing + result.err;
}

std::string check(const fs::path& file, const std::string& mcc, bool update) {
  const Case c = parse_case(read_file(file));
  const TempDir folder;
  const ProcessResult result = run_command(c, mcc, folder.path());
  const bool rewrite = update && !c.error && result.exit_code == 0 && result.out != c.expected;
  if (rewrite) write_file(file, c.head + result.out);
  return rewrite ? "" : judge(c, result, folder.path());
}

std::vector<fs::path> case_files(const std::vector<fs::path>& roots) {
  std::vector<fs::path> files;
  for (const fs::path& root : roots) {
    if (!fs::is_directory(root))
      files.push_back(root);
    else
      for (const auto& entry : fs::recursive_directory_iterator(root)) {
        if (entry.path().extension() == ".case") files.push_back(entry.path());
      }
  }
  std::sort(files.begin(), files.end());
  return files;
}

int run_all(const std::vector<fs::path>& files, const std::string& mcc, bool update) {
  std::atomic<size_t> next = 0;
  std::atomic<int> failed = 0;
  std::mutex printing;
  const auto work = [&] {
    for (size_t i = next++; i < files.size(); i = next++) {
      std::string wrong;
      try {
        wrong = check(files[i], mcc, update);
      } catch (const std::exception& e) {
        wrong = fmt::format("{}\n", e.what());
      }
      if (wrong.empty()) continue;
      failed++;
      const std::lock_guard lock(printing);
      fmt::print("FAILED {}\n{}", files[i].string(), wrong);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(1U, std::thread::hardware_concurrency()); t++) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  fmt::print("{} passed, {} failed\n", static_cast<int>(files.size()) - failed, failed.load());
  return failed == 0 ? 0 : 1;
}

int run(int argc, char** argv) {
  std::string mcc;
  bool update = false;
  std::vector<fs::path> roots;
  for (int i = 1; i < argc; i++) {
    const std::string_view arg = argv[i];
    if (arg.starts_with("--mcc="))
      mcc = fs::absolute(arg.substr(6)).string();
    else if (arg == "--update")
      update = true;
    else
      roots.emplace_back(arg);
  }
  if (mcc.empty() || roots.empty()) fail("usage: run_cases --mcc=PROGRAM [--update] DIR|FILE...");
  return run_all(case_files(roots), mcc, update);
}

}  // namespace
}  // namespace mcc

int main(int argc, char** argv) {
  try {
    return mcc::run(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 2;
  }
}
