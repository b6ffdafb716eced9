// SPDX-License-Identifier: BSD-2-Clause
// parse_frame() on any bytes. An input is a virtio header and then a frame.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "packet/engine/raw/frame.h"

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "property broken: %s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  urxe::VnetHeader vnet;
  if (size < sizeof vnet) return 0;
  std::memcpy(&vnet, data, sizeof vnet);
  const std::span<const uint8_t> frame(data + sizeof vnet, size - sizeof vnet);
  const auto received = urxe::parse_frame(frame, vnet);
  if (!received) return 0;
  const urxe::PacketRun& run = received->packets;
  require(!run.bytes.empty() && run.segment_size != 0, "there is a packet");
  require(run.bytes.data() >= frame.data() + 42, "behind all headers");
  require(run.bytes.data() + run.bytes.size() <= frame.data() + frame.size(), "within the frame");
  require(run.packets() <= 1 || run.segment_size >= urxe::kMinRocePacketBytes,
          "segments hold a packet each");
  size_t total = 0;
  run.for_each([&](std::span<const uint8_t> packet) {
    total += packet.size();
    (void)urxe::parse({packet, run.flow, received->ipv4_identification});
  });
  require(total == run.bytes.size(), "no byte is left");
  return 0;
}
