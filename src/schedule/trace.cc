// Steps as text: `kind block words... [ints]`, one table row for each kind. Equal traces have equal text, and the text
// parses back.
#include "schedule/trace.h"

#include <array>

#include "base/text.h"

namespace mcc {

namespace {

struct Form {
  StepKind kind;
  std::string_view name;
  int min_words, max_words;  // after the block name; max -1: any number
  bool ints;                 // a [list] follows
};

constexpr std::array<Form, 17> kForms = {{
    {StepKind::split, "split", 1, 1, true},
    {StepKind::reorder, "reorder", 1, -1, false},
    {StepKind::mark, "mark", 2, 2, false},
    {StepKind::inline_block, "inline", 0, 0, false},
    {StepKind::compute_at, "compute_at", 2, 2, false},
    {StepKind::scope, "scope", 1, 1, false},
    {StepKind::cache_write, "cache_write", 0, 0, false},
    {StepKind::cache_read, "cache_read", 1, 1, true},
    {StepKind::pack, "pack", 1, 1, true},
    {StepKind::rfactor, "rfactor", 1, 1, false},
    {StepKind::winograd, "winograd", 0, 0, true},
    {StepKind::prefetch, "prefetch", 1, 1, true},
    {StepKind::parts, "parts", 1, 1, true},
    {StepKind::cache_access, "cache_access", 1, -1, false},
    {StepKind::strips, "strips", 1, 1, false},
    {StepKind::skip, "skip", 1, 1, false},
    {StepKind::share, "share", 1, 1, true},
}};

const Form& form_of(StepKind kind) { return kForms.at(static_cast<size_t>(kind)); }

std::string ints_text(const Step& step) {
  if (step.kind != StepKind::pack) return fmt::format("[{}]", join(step.ints, ","));
  std::string text;
  for (size_t i = 0; i + 1 < step.ints.size(); i += 2) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", step.ints[i], step.ints[i + 1]);
  }
  return "[" + text + "]";
}

std::vector<i64> parse_ints(std::string_view text, StepKind kind, std::string_view whole) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']')
    fail("step '{}': expected a [list] at its end", whole);
  std::vector<i64> ints;
  for (const std::string& item : split(text.substr(1, text.size() - 2), ',')) {
    const std::vector<std::string> parts = split(item, ':');
    if (parts.size() != (kind == StepKind::pack ? 2u : 1u))
      fail("step '{}': '{}' is not an item of its list", whole, item);
    for (const std::string& part : parts) {
      const std::optional<i64> value = to_i64(part);
      if (!value) fail("step '{}': '{}' is not an integer", whole, part);
      ints.push_back(*value);
    }
  }
  return ints;
}

}  // namespace

std::string_view name(StepKind kind) { return form_of(kind).name; }

std::string to_string(const Step& step) {
  const Form& form = form_of(step.kind);
  std::string text = fmt::format("{} {}", form.name, step.block);
  for (const std::string& word : step.loops) text += " " + word;
  if (form.ints) text += " " + ints_text(step);
  return text;
}

std::string to_string(const Trace& trace) {
  std::string text;
  for (const Step& step : trace) text += (text.empty() ? "" : "; ") + to_string(step);
  return text;
}

Step parse_step(std::string_view text) {
  std::vector<std::string> words = split_words(text);
  if (words.size() < 2) fail("step '{}': expected a step and a block", text);
  for (const Form& form : kForms) {
    if (form.name != words[0]) continue;
    Step step{form.kind, words[1], {}, {}};
    if (form.ints) {
      step.ints = parse_ints(words.back(), form.kind, text);
      words.pop_back();
    }
    if (words.size() > 2) step.loops.assign(words.begin() + 2, words.end());
    const int count = static_cast<int>(step.loops.size());
    if (words.size() < 2 || count < form.min_words || (form.max_words >= 0 && count > form.max_words)) {
      fail("step '{}': wrong number of words", text);
    }
    return step;
  }
  fail("step '{}': unknown step '{}'", text, words[0]);
}

Trace parse_trace(std::string_view text) {
  Trace trace;
  for (const std::string& part : split(text, ';')) {
    if (!trim(part).empty()) trace.push_back(parse_step(part));
  }
  return trace;
}

}  // namespace mcc
