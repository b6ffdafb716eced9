// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/stat/groups.h"
#include "tools/stat/rates.h"
#include "tools/top/view.h"

namespace urxe::top {

/// A line of the table, before it is put into columns.
struct Row {
  stat::Group group;                 ///< of one device; or all of a sum
  const QpReport* report = nullptr;  ///< null: a sum
  std::string name;                  ///< of the program, or the device
  std::string process;               ///< its ID, or how many there are
  std::string device;                ///< its name, or how many there are
  size_t queue_pairs = 1;
  stat::Rates rates;
  int64_t round_trip_ns = 0;  ///< the longest
  std::string last_error;
  std::string condition;
  std::string long_condition;
  bool has_failed = false;
};

/// The lines that the filter lets through, in order.
std::vector<Row> make_rows(const View& view, const Looks& looks);

/// What tells the row from all others, now and in later looks.
std::string name_of(const Row& row, Lines lines);

/// A line for each queue pair of a device.
std::vector<Row> rows_of(const Looks& looks, const DeviceObservation& device);

/// The headings, or the cells of a line, as wide as the screen allows.
std::string headings(Lines lines, size_t columns);
std::string cells(const Row& row, size_t columns);

}  // namespace urxe::top
