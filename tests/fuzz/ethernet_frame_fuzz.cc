// SPDX-License-Identifier: BSD-2-Clause
// What is done with any Ethernet frame that comes for raw packets. An input is a frame.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "packet/wire/ethernet/frame_checksum.h"
#include "packet/wire/ethernet/frame_match.h"
#include "packet/wire/ethernet/frame_segments.h"

namespace {

using urxe::FrameHeaders;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "property broken: %s\n", what);
  std::abort();
}

/// Every segment has the size that was told, and parses as the whole did.
void split(std::span<const uint8_t> frame, const FrameHeaders& headers, size_t segment_size) {
  const auto segments = urxe::FrameSegments::of(frame, headers.transport, segment_size);
  if (!segments) return;
  size_t total = 0;
  for (size_t i = 0; i < segments->count(); ++i) {
    std::vector<uint8_t> out(segments->bytes(i));
    segments->write(i, out.data());
    const auto parsed = urxe::parse_frame_headers(out);
    require(parsed && parsed->transport == headers.transport, "a segment is such a frame");
    total += out.size();
  }
  require(total >= segment_size || segments->count() == 1, "all segments but the last are full");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> frame(data, size);
  const auto headers = urxe::parse_frame_headers(frame);
  if (!headers) return 0;
  require(headers->network_at <= size, "the network header is in the frame");
  if (headers->transport != FrameHeaders::Transport::kOther) {
    require(headers->transport_at + headers->transport_bytes <= size, "so is the transport");
  }
  (void)urxe::checksums_are_right(frame, *headers, false);
  std::vector<uint8_t> copy(frame.begin(), frame.end());
  urxe::write_checksums(copy);
  urxe::FrameMatch match;
  const uint8_t ones[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  for (const auto base : {urxe::FrameMatch::Base::kFrame, urxe::FrameMatch::Base::kNetwork,
                          urxe::FrameMatch::Base::kTransport}) {
    match.require(base, 24, std::span(ones, 8), std::span(ones, 8));
    (void)match.matches(frame, *headers);
  }
  split(frame, *headers, size % 97 + 1);
  return 0;
}
