#include "costmodel/forest.h"

#include <charconv>

#include "base/text.h"
#include "costmodel/cost_model.h"

extern "C" const char mcc_shipped_forest[], mcc_shipped_forest_end[];  // CMakeLists.txt embeds shipped.forest

namespace mcc {
namespace {

constexpr std::string_view kHead = "mcc-forest 1 features ";
constexpr size_t kMaxNodes = 1 << 16;  // of a tree: deeper or larger ones are a mistake

template <typename T>
T number(std::string_view text, size_t line) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) fail("forest:{}: \"{}\" is no number", line, text);
  return value;
}

// A node from its word; its second child is linked by the caller.
TreeNode node_from_text(std::string_view word, size_t line) {
  if (word.starts_with('=')) return {-1, number<float>(word.substr(1), line), 0};
  const size_t at = word.find('<');
  if (at == std::string_view::npos) fail("forest:{}: \"{}\" is neither FEATURE<THRESHOLD nor =VALUE", line, word);
  const int feature = number<int>(word.substr(0, at), line);
  if (feature < 0 || feature >= static_cast<int>(feature_names().size()))
    fail("forest:{}: there is no feature {}", line, feature);
  return {feature, number<float>(word.substr(at + 1), line), 0};
}

// Preorder with an explicit stack of splits: how many of their children are complete.
Tree tree_from_text(const std::string& text, size_t line) {
  Tree tree;
  std::vector<std::pair<size_t, bool>> open;  // split, whether its first child is complete
  bool complete = false;
  for (const std::string& word : split(text, ' ')) {
    if (complete || tree.size() >= kMaxNodes) fail("forest:{}: more nodes than a tree has", line);
    tree.push_back(node_from_text(word, line));
    if (tree.back().feature >= 0) {
      open.emplace_back(tree.size() - 1, false);
      continue;
    }
    while (!open.empty() && open.back().second) open.pop_back();
    if (open.empty()) {
      complete = true;
    } else {
      open.back().second = true;
      tree[open.back().first].second = static_cast<int>(tree.size());
    }
  }
  if (!complete) fail("forest:{}: the tree ends in the middle", line);
  return tree;
}

}  // namespace

double Forest::score(std::span<const float> row) const {
  double sum = -kAnalyticWeight * row.front();
  for (const Tree& tree : trees) {
    size_t at = 0;
    while (tree[at].feature >= 0)
      at = row[static_cast<size_t>(tree[at].feature)] < tree[at].value ? at + 1 : static_cast<size_t>(tree[at].second);
    sum += tree[at].value;
  }
  return sum;
}

std::string to_text(const Forest& forest) {
  std::string text = fmt::format("{}{}\n", kHead, kFeatureVersion);
  for (const Tree& tree : forest.trees) {
    std::vector<std::string> words;
    for (const TreeNode& n : tree)
      words.push_back(n.feature < 0 ? fmt::format("={}", n.value) : fmt::format("{}<{}", n.feature, n.value));
    text += join(words, " ") + "\n";
  }
  return text;
}

Forest forest_from_text(std::string_view text) {
  const std::vector<std::string> lines = split(trim(text), '\n');
  if (lines.empty() || !lines.front().starts_with(kHead)) fail("forest:1: does not start with \"{}\"", kHead);
  const int version = number<int>(std::string_view(lines.front()).substr(kHead.size()), 1);
  if (version != kFeatureVersion)
    fail("forest:1: trained on features {}, this mcc has {}; train it again (mcc-log train)", version, kFeatureVersion);
  Forest forest;
  for (size_t i = 1; i < lines.size(); i++) forest.trees.push_back(tree_from_text(lines[i], i + 1));
  return forest;
}

const Forest& shipped_forest() {
  static const Forest forest = forest_from_text({mcc_shipped_forest, mcc_shipped_forest_end});
  return forest;
}

}  // namespace mcc
