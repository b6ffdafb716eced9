// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <vector>

#include "tools/top/rows.h"
#include "tools/top/view.h"

namespace urxe::top {

/// All there is to say of a line, in lines of `columns` at most. Of a sum: with its queue pairs.
void add_detail(const Row& row, const Looks& looks, size_t columns, std::vector<Line>& lines);

}  // namespace urxe::top
