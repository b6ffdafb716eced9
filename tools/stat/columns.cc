// SPDX-License-Identifier: BSD-2-Clause
#include "tools/stat/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace urxe::stat {
namespace {

std::vector<size_t> widths_of(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  return widths;
}

/// What is left for the first column.
size_t first_width(const std::vector<size_t>& widths, const Layout& layout) {
  const size_t others = std::accumulate(widths.begin() + 1, widths.end(), size_t{0}) +
                        layout.gap * (widths.size() - 1);
  return std::min(widths.front(), layout.columns > others ? layout.columns - others : 1);
}

}  // namespace

std::string format_rows(std::vector<Row> rows, const Layout& layout) {
  std::vector<size_t> widths = widths_of(rows);
  widths.front() = first_width(widths, layout);
  const std::string gap(layout.gap, ' ');
  std::string text;
  for (Row& row : rows) {
    row.front().resize(std::min(row.front().size(), widths.front()));
    std::string line;
    for (size_t i = 0; i + 1 < row.size(); ++i) {
      line += (i < layout.text_columns ? fmt::format("{:<{}}", row[i], widths[i])
                                       : fmt::format("{:>{}}", row[i], widths[i])) +
              gap;
    }
    line += row.back();
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace urxe::stat
