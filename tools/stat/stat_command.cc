// SPDX-License-Identifier: BSD-2-Clause
#include "tools/stat/stat_command.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

#include "tools/exit_status.h"
#include "tools/stat/completion_queues.h"
#include "tools/stat/export.h"
#include "tools/stat/groups.h"
#include "tools/stat/table.h"
#include "tools/stat/wall_time.h"
#include "tools/stat/why.h"

namespace urxe {
namespace {

constexpr int kFound = 1;
constexpr const char* kProcess = "process";
constexpr const char* kDevice = "device";
constexpr double kLeastInterval = 0.1;   // seconds: processes publish every 10 ms
constexpr double kMostInterval = 86400;  // seconds
constexpr uint32_t kLargestQpn = 0xffffff;

/// Prints a remark on stderr. Unlike fmt::print() it ignores errors: the report counts.
template <class... Args>
void tell(fmt::format_string<Args...> format, Args&&... args) {
  const std::string line = fmt::format(format, std::forward<Args>(args)...);
  (void)std::fwrite(line.data(), 1, line.size(), stderr);
}

int refuse_stat(const std::string& reason) {
  tell("urxe stat: {}\n", reason);
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
  if (options.json && options.why) {
    return "--json and --why exclude each other: --json alone has what --why says, as error, "
           "last_error and last_trouble of each queue pair";
  }
  if (options.json + options.prometheus + options.why + options.cq + options.wide +
          options.by.has_value() >
      1) {
    return "--json, --prometheus, --why, --cq, --by and --wide exclude each other";
  }
  if (options.by && options.by != kProcess && options.by != kDevice) {
    return "--by " + *options.by + ": must be process or device";
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
  if (options.count == 0) return "--count 0: must be 1 or more; without it there is no end";
  if (options.interval && options.why) return "--why reports once: leave out --interval";
  return "";
}

Observation look(const StatOptions& options) {
  Observation seen = options.all_namespaces ? observe(Whose::kAll, options.other_nodes)
                                            : observe(Whose::kThisNamespace);
  stat::select(seen, options.selection);
  return seen;
}

/// Whether the report has queue pairs that have ended.
bool tells_of_ended(const StatOptions& options, const Observation& seen) {
  return (options.why || options.json) && !seen.ended.empty();
}

size_t count_queue_pairs(const Observation& seen) {
  size_t sum = 0;
  for (const DeviceObservation& device : seen.devices) sum += device.queue_pairs.size();
  return sum;
}

/// False: it could not be written, which is said.
bool print_text(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return true;
  tell("urxe stat: cannot write the report: {}\n", std::strerror(errno));
  return false;
}

std::string report_of(const StatOptions& options, const Observation& seen,
                      const Observation* before) {
  if (options.json) return stat::json_report(seen);
  if (options.prometheus) return stat::prometheus_report(seen);
  std::string title;
  if (options.interval) {
    title = stat::wall_time() + (before != nullptr ? ", in a second\n" : ", so far\n");
  }
  if (options.cq) return title + stat::cq_report(seen);
  if (options.by) {
    const bool by_process = options.by == kProcess;
    return title + stat::group_report(
                       seen, before, by_process ? stat::GroupBy::kProcess : stat::GroupBy::kDevice);
  }
  return title +
         (options.wide ? stat::wide_report(seen, before) : stat::table_report(seen, before));
}

bool print_report(const StatOptions& options, const Observation& seen, const Observation* before) {
  return print_text(report_of(options, seen, before));
}

/// What the user should know beside the report.
void print_remarks(const StatOptions& options, const Observation& seen) {
  const auto remark = [](std::string_view what, size_t count) {
    if (count != 0) tell("urxe stat: {}: {}\n", what, count);
  };
  remark("files not opened, for which the limit of open files is too low (ulimit -n)",
         seen.unopened);
  remark("processes left out, which run with another version of urxe", seen.unreadable);
  size_t left_out = 0;
  for (const DeviceObservation& device : seen.devices) left_out += device.left_out;
  remark("queue pairs left out, for which /dev/shm has no room", left_out);
  remark("devices of processes left out, for which /dev/shm has no room", seen.without_room);
  if (!options.why && !options.json) {
    remark("failed queue pairs that have ended (`urxe stat --why` says why)", seen.ended.size());
  }
  if (count_queue_pairs(seen) != 0) return;
  if (tells_of_ended(options, seen)) return;
  if (!options.selection.is_all()) {
    tell("urxe stat: no queue pair matches {}{}\n", stat::describe(options.selection),
         options.all_namespaces ? "" : ", in this network namespace (--all shows all)");
  } else if (seen.ended.empty() && seen.unopened == 0) {
    tell("urxe stat: no queue pair to show: is a program of this user under `urxe run`{}?\n",
         options.all_namespaces ? "" : ", in this network namespace (--all shows all)");
  }
}

int explain_all(const StatOptions& options, const Observation& seen) {
  bool any_failed = !seen.ended.empty();
  const bool wants_each = options.selection.qpn.has_value();
  std::string text;
  for (const EndedQueuePair& ended : seen.ended) text += stat::explain(ended);
  for (const DeviceObservation& device : seen.devices) {
    for (const QpReport& report : device.queue_pairs) {
      const bool failed = failure_of(report) != nullptr;
      any_failed = any_failed || failed;
      if (failed || wants_each) text += stat::explain(device, report);
    }
  }
  if (!any_failed && !wants_each) text = "no queue pair has failed\n";
  if (!print_text(text)) return kOurFailure;
  return any_failed ? kFound : 0;
}

void pause_for(double seconds) {
  const double whole = std::floor(seconds);
  timespec left{static_cast<time_t>(whole), static_cast<long>((seconds - whole) * 1e9)};
  while (nanosleep(&left, &left) != 0) {
  }
}

/// The user waits for something of a process that has ended, or has left its devices.
bool is_gone(const StatOptions& options, const Observation& seen) {
  if (!options.selection.pid || !seen.devices.empty()) return false;
  tell("urxe stat: process {} has ended, or uses no device any more\n", *options.selection.pid);
  return true;
}

int report_repeatedly(const StatOptions& options, Observation seen) {
  if (!print_report(options, seen, nullptr)) return kOurFailure;
  for (uint32_t done = 1; !options.count || done < *options.count; ++done) {
    pause_for(*options.interval);
    Observation now = look(options);
    if (is_gone(options, now)) return kFound;
    if (!print_report(options, now, &seen)) return kOurFailure;
    seen = std::move(now);
  }
  return 0;
}

}  // namespace

int stat_command(StatOptions options) {
  if (const std::string wrong = check_options(options); !wrong.empty()) return refuse_stat(wrong);
  Observation seen = look(options);
  print_remarks(options, seen);
  if (options.why && !(seen.devices.empty() && seen.ended.empty())) {
    return explain_all(options, seen);
  }
  if (count_queue_pairs(seen) == 0 && !options.selection.is_all() &&
      !tells_of_ended(options, seen)) {
    // Programs that read it want an empty list, not nothing.
    const bool is_for_programs = options.json || options.prometheus;
    return !is_for_programs || print_report(options, seen, nullptr) ? kFound : kOurFailure;
  }
  if (options.why) return explain_all(options, seen);
  if (options.interval) return report_repeatedly(options, std::move(seen));
  return print_report(options, seen, nullptr) ? 0 : kOurFailure;
}

}  // namespace urxe
