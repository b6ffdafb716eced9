// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "provider/observation/stat_reader.h"

namespace urxe::stat {

/// "1.5M": three digits at most, in powers of 1000.
std::string short_number(double value);
/// "12.3us".
std::string short_time(int64_t ns);
/// The error that ended the queue pair, or what its send queue waits for; "" if neither.
std::string condition_of(const QpReport& report);
/// "192.0.2.1 0x000123", or "" without a peer.
std::string peer_of(const QpReport& report);

/// A table, a line a queue pair. With `before`, what is sent and received is that of a second in
/// between.
std::string table_report(const Observation& seen, const Observation* before);

}  // namespace urxe::stat
