// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/cluster/plot.h"

#include <algorithm>

#include "tests/sim/failure.h"

namespace urxe::sim {
namespace {

constexpr double kWidth = 860;
constexpr double kLeft = 90;
constexpr double kPlotWidth = kWidth - kLeft - 30;
constexpr double kPanelHeight = 200;
constexpr double kPanelGap = 60;
constexpr double kTop = 50;

struct Panel {
  const char* name;
  const char* colour;
  double scale;  ///< from what the series has in a span to the unit
  const TimeSeries& series;
};

std::string label(double x, double y, const char* anchor, const std::string& words) {
  return text("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor) + words +
         "</text>\n";
}

std::string draw(const Panel& panel, double top, double seconds) {
  const std::vector<uint64_t>& values = panel.series.values();
  const double span = static_cast<double>(panel.series.span().ns) / 1e9;
  uint64_t most = 1;
  for (const uint64_t value : values) most = std::max(most, value);
  const double bottom = top + kPanelHeight;
  std::string out = text(
      "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" "
      "stroke=\"#888\"/>\n<polyline fill=\"none\" stroke=\"%s\" points=\"",
      kLeft, top, kPlotWidth, kPanelHeight, panel.colour);
  for (size_t i = 0; i < values.size(); ++i) {
    const double x = std::min((static_cast<double>(i) + 0.5) * span / seconds, 1.0);
    const double y = static_cast<double>(values[i]) / static_cast<double>(most);
    out += text("%.1f,%.1f ", kLeft + x * kPlotWidth, bottom - y * kPanelHeight);
  }
  out += "\"/>\n";
  out += label(kLeft, top - 8, "start", panel.name);
  out += label(kLeft - 6, top + 10, "end", text("%.3g", static_cast<double>(most) * panel.scale));
  out += label(kLeft - 6, bottom, "end", "0");
  out += label(kLeft + kPlotWidth, bottom + 18, "end", text("%.4g ms", seconds * 1000));
  return out;
}

}  // namespace

std::string plot(const Cluster& cluster, const std::string& title) {
  const double seconds = static_cast<double>((cluster.end() - Instant{}).ns) / 1e9;
  const double span = static_cast<double>(cluster.goodput().span().ns) / 1e9;
  const Panel goodput{"goodput of all hosts, Gb/s", "#1f5fa8", 8 / span / 1e9, cluster.goodput()};
  const Panel depth{"deepest queue of the switch, KiB", "#b0413e", 1.0 / 1024,
                    cluster.fabric().depth()};
  const double second = kTop + kPanelHeight + kPanelGap;
  return text(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
             "font-family=\"sans-serif\" font-size=\"12\">\n",
             kWidth, second + kPanelHeight + 40) +
         "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" +
         label(kLeft, 20, "start", title) + draw(goodput, kTop, seconds) +
         draw(depth, second, seconds) + "</svg>\n";
}

}  // namespace urxe::sim
