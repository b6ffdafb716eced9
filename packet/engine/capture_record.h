// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "packet/wire/roce_packet.h"

namespace urxe {

// The pcapng blocks of a capture (draft-ietf-opsawg-pcapng), always little-endian.

enum class Direction : uint8_t { kInbound = 1, kOutbound = 2 };

/// The begin of a capture: a section header and one interface, link type RAW (IPv4 or IPv6), times
/// in nanoseconds.
inline constexpr size_t kCaptureHeaderBytes = 60;
std::array<uint8_t, kCaptureHeaderBytes> capture_header();

/// Appends one enhanced packet block to `out`: IP and UDP headers made from `flow` and, for IPv4,
/// `identification`, then `bytes`, BTH to ICRC. `time_ns` counts from 1970.
void append_capture_record(std::vector<uint8_t>& out, Direction direction, uint64_t time_ns,
                           const Flow& flow, uint16_t identification,
                           std::span<const uint8_t> bytes);

/// What such a block has before the IP header, and behind the packet and its padding.
inline constexpr size_t kCaptureRecordBegin = 28;
inline constexpr size_t kCaptureRecordEnd = 16;
inline constexpr size_t kCaptureRecordOverhead = kCaptureRecordBegin + kCaptureRecordEnd;
/// Whether these are the begin and the end of one such block.
bool is_capture_record(std::span<const uint8_t, kCaptureRecordBegin> begin,
                       std::span<const uint8_t, kCaptureRecordEnd> end);

}  // namespace urxe
