// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace urxe::stat {

using Row = std::vector<std::string>;

/// Columns of the narrowest terminal that tables are made for.
inline constexpr size_t kScreen = 80;

/// How a table is laid out. The last column is to the left, too.
struct Layout {
  size_t text_columns =
      0;           ///< the first ones: text, to the left; the others: numbers, to the right
  size_t gap = 2;  ///< between columns
  size_t columns = SIZE_MAX;  ///< the first column is cut so that lines are no longer
};

/// The lines of a table. The first row has the headings.
std::string format_rows(std::vector<Row> rows, const Layout& layout);

}  // namespace urxe::stat
