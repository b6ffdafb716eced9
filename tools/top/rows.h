// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/stat/rates.h"
#include "tools/top/view.h"

namespace urxe::top {

/// A line of the table, before it is put into columns.
struct Row {
  const DeviceObservation* device = nullptr;
  const QpReport* report = nullptr;  ///< null: all of the device's
  size_t queue_pairs = 1;
  stat::Rates rates;
  int64_t round_trip_ns = 0;  ///< the longest
  std::string condition;
  std::string long_condition;
  bool has_failed = false;
};

/// The lines that the filter lets through, in order.
std::vector<Row> make_rows(const View& view, const Looks& looks);

/// A line for each queue pair of a device.
std::vector<Row> rows_of(const Looks& looks, const DeviceObservation& device);

/// The headings, or the cells of a line, as wide as the screen allows.
std::string headings(const View& view, size_t columns);
std::string cells(const Row& row, size_t columns);

}  // namespace urxe::top
