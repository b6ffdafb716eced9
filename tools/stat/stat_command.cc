// SPDX-License-Identifier: BSD-2-Clause
#include "tools/stat/stat_command.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "tools/exit_status.h"
#include "tools/stat/export.h"
#include "tools/stat/table.h"
#include "tools/stat/why.h"

namespace urxe {
namespace {

constexpr int kFound = 1;
constexpr double kLeastInterval = 0.1;   // seconds: processes publish every 10 ms
constexpr double kMostInterval = 86400;  // seconds
constexpr uint32_t kLargestQpn = 0xffffff;

int refuse_stat(const std::string& reason) {
  fmt::print(stderr, "urxe stat: {}\n", reason);
  return kBadInput;
}

/// As verbs and tools write it: decimal, or hexadecimal behind 0x.
std::optional<uint32_t> parse_qpn(std::string_view text) {
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  if (is_hex) text.remove_prefix(2);
  uint32_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, is_hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size() || value > kLargestQpn) {
    return std::nullopt;
  }
  return value;
}

/// A sentence on what is wrong with the options; empty: nothing is.
std::string check_options(StatOptions& options) {
  if (options.json + options.prometheus + options.why > 1) {
    return "--json, --prometheus and --why exclude each other";
  }
  if (options.qp) {
    options.selection.qpn = parse_qpn(*options.qp);
    if (!options.selection.qpn) {
      return "--qp " + *options.qp + ": not a queue pair number (0 to 0xffffff)";
    }
  }
  if (options.interval &&
      !(*options.interval >= kLeastInterval && *options.interval <= kMostInterval)) {
    return fmt::format("--interval {}: must be {} to {} seconds", *options.interval, kLeastInterval,
                       kMostInterval);
  }
  if (options.count && !options.interval) return "--count needs --interval";
  if (options.interval && options.why) return "--why reports once: leave out --interval";
  return "";
}

Observation look(const StatOptions& options) {
  Observation seen = observe(options.all_namespaces ? Whose::kAll : Whose::kThisNamespace);
  stat::select(seen, options.selection);
  return seen;
}

size_t count_queue_pairs(const Observation& seen) {
  size_t sum = 0;
  for (const DeviceObservation& device : seen.devices) sum += device.queue_pairs.size();
  return sum;
}

void print_report(const StatOptions& options, const Observation& seen, const Observation* before) {
  if (options.json) {
    fmt::print("{}", stat::json_report(seen));
  } else if (options.prometheus) {
    fmt::print("{}", stat::prometheus_report(seen));
  } else {
    fmt::print("{}", stat::table_report(seen, before));
  }
  std::fflush(stdout);
}

/// What the user should know beside the report.
void print_remarks(const Observation& seen) {
  if (seen.unreadable != 0) {
    fmt::print(stderr,
               "urxe stat: {} processes run with another version of urxe, and are left out\n",
               seen.unreadable);
  }
  if (count_queue_pairs(seen) == 0) {
    fmt::print(stderr,
               "urxe stat: no queue pair to show: is a program of this user under `urxe run`, in "
               "this network namespace (--all shows all)?\n");
  }
}

int explain_all(const StatOptions& options, const Observation& seen) {
  bool any_failed = false;
  const bool wants_each = options.selection.qpn.has_value();
  for (const DeviceObservation& device : seen.devices) {
    for (const QpReport& report : device.queue_pairs) {
      const bool failed = stat::has_failed(report);
      any_failed = any_failed || failed;
      if (failed || wants_each) fmt::print("{}", stat::explain(device, report));
    }
  }
  if (!any_failed && !wants_each) fmt::print("no queue pair has failed\n");
  return any_failed ? kFound : 0;
}

void pause_for(double seconds) {
  const double whole = std::floor(seconds);
  timespec left{static_cast<time_t>(whole), static_cast<long>((seconds - whole) * 1e9)};
  while (nanosleep(&left, &left) != 0) {
  }
}

int report_repeatedly(const StatOptions& options, Observation seen) {
  print_report(options, seen, nullptr);
  for (uint32_t done = 1; !options.count || done < *options.count; ++done) {
    pause_for(*options.interval);
    Observation now = look(options);
    print_report(options, now, &seen);
    seen = std::move(now);
  }
  return 0;
}

}  // namespace

int stat_command(StatOptions options) {
  if (const std::string wrong = check_options(options); !wrong.empty()) return refuse_stat(wrong);
  Observation seen = look(options);
  print_remarks(seen);
  if (count_queue_pairs(seen) == 0 && !options.selection.is_all()) return kFound;
  if (options.why) return explain_all(options, seen);
  if (options.interval) return report_repeatedly(options, std::move(seen));
  print_report(options, seen, nullptr);
  return 0;
}

}  // namespace urxe
