// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string_view>

#include "packet/wire/gid.h"
#include "provider/observation/short_text.h"
#include "transport/observation/qp_report.h"

namespace urxe {

// A failure in words. Functions that have nothing to say add nothing, or return "".

/// Adds what happened, in a sentence.
void add_event(ShortText& text, const ErrorCause& cause);
/// What the check is about, in a sentence.
std::string_view check_text(Check check);
/// Adds the key and the range of memory.
void add_memory(ShortText& text, const ErrorCause& cause);
/// Adds the packet that brought the failure.
void add_packet(ShortText& text, const ErrorCause& cause);
/// Adds the work request that failed with it.
void add_request(ShortText& text, const ErrorCause& cause);
/// Whether the work request is a receive.
bool is_of_a_receive(const ErrorCause& cause);
/// Adds "192.0.2.1 0x000123"; nothing for a peer that is 0.
void add_peer(ShortText& text, const Gid& remote, uint32_t qpn);
/// Adds "12.3us".
void add_time(ShortText& text, int64_t ns);

/// All of it in a line, without a newline, for a report that has a failure (failure_of()).
ShortText failure_line(std::string_view device, const QpReport& report);

}  // namespace urxe
