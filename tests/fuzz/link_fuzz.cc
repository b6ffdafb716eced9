// SPDX-License-Identifier: BSD-2-Clause
// LinkServices on any frames. An input is a row of frames: two bytes of length, and the frame.

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "packet/engine/dpdk/link/link_services.h"

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "property broken: %s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace urxe;
  const Gid neighbour = *parse_ip_address("10.0.0.2");
  LinkServices link(
      {{2, 0, 0, 0, 0, 1}, {*parse_ip_network("10.0.0.1/24"), *parse_ip_network("fd00::1/64")}, {}},
      {1, 2});
  Instant now{1};
  link.join(*parse_ip_address("239.1.2.3"), now);
  link.join(*parse_ip_address("ff0e::1"), now);
  (void)link.resolve(neighbour, now);
  while (link.take_frame()) {
  }
  while (size >= 2) {
    const size_t length = std::min<size_t>(size - 2, size_t{data[0]} << 8 | data[1]);
    link.handle({data + 2, length}, now);
    data += 2 + length;
    size -= 2 + length;
    now = now + milliseconds(50);
    link.advance(now);
    for (int frames = 0; const auto frame = link.take_frame(); ++frames) {
      require(frame->size >= 42 && frame->size <= frame->bytes.size(), "frames are whole");
      require(frames < 8, "one frame has few answers");
    }
  }
  require(link.resolutions() <= 1, "only what was asked for is learnt");
  require(link.is_own(*parse_ip_address("10.0.0.1")), "the addresses stay");
  return 0;
}
