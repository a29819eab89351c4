#include "tools/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/say.h"

namespace mcc {
namespace {

constexpr size_t kBarWidth = 30;

std::string duration(double seconds) {
  const i64 s = std::llround(seconds);
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
}

std::string remaining(const Progress& p) {
  if (p.measured <= 0 || p.seconds < 1 || p.trials >= p.trials_total) return "-";
  const double to_do = static_cast<double>(p.trials_total - p.trials) / p.trials_per_second();
  return duration(std::clamp(p.seconds_left, 0.0, to_do));
}

std::string latency(double seconds) {
  if (seconds <= 0) return "-";
  return seconds < 1e-4 ? fmt::format("{:.2f} us", seconds * 1e6) : fmt::format("{:.3f} ms", seconds * 1e3);
}

std::string failures(const Progress& p) {
  std::string text;
  for (const auto& [reason, n] : p.failures) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, reason);
  if (p.mistakes > 0) text += fmt::format("{}{} left out by an internal error", text.empty() ? "" : ", ", p.mistakes);
  return text.empty() ? "none" : text;
}

struct Terminal {
  int rows = 24, columns = 80;
};
Terminal terminal() {
  winsize size{};
  Terminal t;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0) return t;
  if (size.ws_row > 8) t.rows = size.ws_row;
  if (size.ws_col > 0) t.columns = size.ws_col;
  return t;
}

}  // namespace

double run_seconds(const Progress& progress) {
  double sum = 0;
  for (const TaskProgress& t : progress.tasks) {
    if (t.best_seconds <= 0) return 0;
    sum += t.weight * t.best_seconds;
  }
  return sum;
}

ProgressView::ProgressView(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1) {}

void ProgressView::show(const Progress& progress) {
  if (quiet_) return;
  terminal_ ? draw_table(progress) : print_line(progress);
}

void ProgressView::finish() { lines_drawn_ = 0; }

void ProgressView::print_line(const Progress& p) {
  if (p.trials == last_trials_) return;
  last_trials_ = p.trials;
  const std::string task = p.current_task >= 0 ? p.tasks[static_cast<size_t>(p.current_task)].name : "start";
  say("trials {}/{}  model {}  {:.1f} trials/s  left {}  failed: {}  [{}]\n", p.trials, p.trials_total,
      latency(run_seconds(p)), p.trials_per_second(), remaining(p), failures(p), task);
}

void ProgressView::draw_table(const Progress& p) {
  const Terminal window = terminal();
  std::vector<size_t> order(p.tasks.size());
  for (size_t i = 0; i < order.size(); i++) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return p.tasks[a].weight * p.tasks[a].best_seconds > p.tasks[b].weight * p.tasks[b].best_seconds;
  });
  const size_t rows = std::min(order.size(), static_cast<size_t>(window.rows - 6));
  std::vector<std::string> lines = {fmt::format("{:<46} {:>4} {:>7} {:>12} {:>12} {:>7} {:>8}", "task", "x", "trials",
                                                "default", "best", "gain", "GFLOP/s")};
  for (size_t r = 0; r < rows; r++) {
    const TaskProgress& t = p.tasks[order[r]];
    const bool current = static_cast<int>(order[r]) == p.current_task;
    lines.push_back(fmt::format(
        "{}{:<45.45} {:>4} {:>7} {:>12} {:>12} {:>6} {:>8}", current ? ">" : " ", t.name, t.weight, t.trials,
        latency(t.default_seconds), latency(t.best_seconds),
        t.best_seconds > 0 && t.default_seconds > 0 ? fmt::format("{:.2f}x", t.default_seconds / t.best_seconds) : "-",
        t.best_seconds > 0 ? fmt::format("{:.1f}", static_cast<double>(t.flops) / t.best_seconds / 1e9) : "-"));
  }
  if (rows < order.size()) lines.push_back(fmt::format(" ... and {} more", order.size() - rows));
  const double share =
      p.trials_total > 0 ? std::min(1.0, static_cast<double>(p.trials) / static_cast<double>(p.trials_total)) : 1;
  const auto filled = static_cast<size_t>(share * kBarWidth);
  lines.push_back(fmt::format("[{}{}] {}/{} trials  {:.1f}/s  {} so far, {} left", std::string(filled, '#'),
                              std::string(kBarWidth - filled, '.'), p.trials, p.trials_total, p.trials_per_second(),
                              duration(p.seconds), remaining(p)));
  lines.push_back(fmt::format("model {}   failed: {}   cost model: pairs {:.2f}, recall {:.2f}",
                              latency(run_seconds(p)), failures(p), p.last_round.pairwise_accuracy,
                              p.last_round.recall_at_k));
  std::string out;
  if (lines_drawn_ > 0) out += fmt::format("\x1b[{}A\x1b[J", lines_drawn_);
  for (const std::string& line : lines) out += line.substr(0, static_cast<size_t>(window.columns)) + "\n";
  lines_drawn_ = static_cast<int>(lines.size());
  say(out);
}

}  // namespace mcc
