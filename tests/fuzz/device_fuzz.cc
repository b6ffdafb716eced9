// SPDX-License-Identifier: BSD-2-Clause
// A device with a queue pair of each kind, fed hostile packets whose ICRC is right. An input is a
// list of commands, each a byte (which command) and its arguments: see DeviceHarness.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/device_harness.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  urxe::fuzz::Input input(data, size);
  urxe::fuzz::DeviceHarness harness(input.byte());
  harness.run(input);
  return 0;
}
