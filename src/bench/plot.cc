// The plot of report.h: one line for each row, a dot for each side at its latency relative to the best peer (without
// peers: to mcc), slowest rows of mcc first. What lies beyond the right edge is drawn on it.
#include <algorithm>
#include <map>

#include "bench/report.h"

namespace mcc {
namespace {

constexpr double kLeft = 330, kWidth = 560, kLine = 17, kTop = 46, kMostRatio = 2;
constexpr const char* kColours[] = {"#c0392b", "#2e86c1", "#28a745", "#8e44ad", "#e67e22", "#555555"};

double reference_ms(const BenchRow& row) { return row.best_peer() ? row.best_peer()->best() : row.sides[0].best(); }
double x_of(double ratio) { return kLeft + kWidth * std::min(ratio, kMostRatio) / kMostRatio; }

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

std::map<std::string, const char*> colours(const BenchReport& report) {
  std::map<std::string, const char*> of_side;
  for (const BenchRow& row : report.rows) {
    for (const Side& side : row.sides) of_side.try_emplace(side.name, kColours[of_side.size() % std::size(kColours)]);
  }
  return of_side;
}

std::string axis(double height) {
  std::string text;
  for (int tick = 0; tick <= 8; tick++) {
    const double ratio = kMostRatio * tick / 8, x = x_of(ratio);
    text += fmt::format("<line x1='{0:.1f}' y1='{1}' x2='{0:.1f}' y2='{2}' stroke='{3}'/>\n", x, kTop, height - 6,
                        ratio == 1 ? "#000000" : "#dddddd");
    text += fmt::format("<text x='{:.1f}' y='{}' text-anchor='middle'>{:.2f}</text>\n", x, kTop - 6, ratio);
  }
  return text;
}

}  // namespace

std::string to_svg(const BenchReport& report) {
  std::vector<const BenchRow*> rows;
  for (const BenchRow& row : report.rows) {
    if (reference_ms(row) > 0) rows.push_back(&row);
  }
  const auto ratio = [](const BenchRow* row) { return row->sides[0].best() / reference_ms(*row); };
  std::stable_sort(rows.begin(), rows.end(), [&](auto* a, auto* b) { return ratio(a) > ratio(b); });

  const double height = kTop + kLine * static_cast<double>(rows.size()) + 12;
  std::string text = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{:.0f}' height='{:.0f}' font-family='sans-serif' "
      "font-size='11'>\n"
      "<rect width='100%' height='100%' fill='white'/>\n",
      kLeft + kWidth + 30, height);
  text += axis(height);
  const auto colour = colours(report);
  double x = kLeft;
  for (const auto& [name, fill] : colour) {
    text += fmt::format("<circle cx='{:.0f}' cy='14' r='5' fill='{}'/><text x='{:.0f}' y='18'>{}</text>\n", x, fill,
                        x + 9, escaped(name));
    x += 110;
  }
  double y = kTop + 14;
  for (const BenchRow* row : rows) {
    text += fmt::format("<text x='{:.0f}' y='{:.0f}' text-anchor='end'>{} ({})</text>\n", kLeft - 8, y,
                        escaped(row->model), row->threads);
    for (size_t i = row->sides.size(); i-- > 0;)  // mcc last, on top
      text += fmt::format("<circle cx='{:.1f}' cy='{:.0f}' r='5' fill='{}'/>\n",
                          x_of(row->sides[i].best() / reference_ms(*row)), y - 4, colour.at(row->sides[i].name));
    y += kLine;
  }
  return text + "</svg>\n";
}

}  // namespace mcc
