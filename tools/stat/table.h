// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

#include "provider/observation/stat_reader.h"

namespace urxe::stat {

/// "1.5M": three digits at most, in powers of 1000.
std::string short_number(double value);
/// "12.3us".
std::string short_time(int64_t ns);
/// "12us": five characters at most, below a thousand days.
std::string brief_time(int64_t ns);
/// How long ago the process has told this.
std::string age_of(const DeviceObservation& device);
/// That the process is stopped, the error that ended the queue pair, or what its send queue waits
/// for, in 13 characters at most; "" if none of these.
std::string condition_of(const DeviceObservation& device, const QpReport& report);
/// The same with the check that failed.
std::string long_condition_of(const DeviceObservation& device, const QpReport& report);
/// The last error, of this state or before, or trouble that it went on after, whichever came last,
/// with its age: "rnr-nak 12s"; "" if there was none.
std::string last_error_of(const DeviceObservation& device, const QpReport& report);
/// What is used of the path's window, and all of it, in bytes: "12k/1.0M"; "" without a path.
std::string window_of(const QpReport& report);
/// "192.0.2.1 0x000123", or "" without a peer.
std::string peer_of(const QpReport& report);

/// Tables, a line a queue pair. With `before`, counts are those of a second in between.

/// Fits 80 columns.
std::string table_report(const Observation& seen, const Observation* before);
/// All columns.
std::string wide_report(const Observation& seen, const Observation* before);

}  // namespace urxe::stat
