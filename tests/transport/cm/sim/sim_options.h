// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

#include "packet/base/time.h"

namespace urxe::cmsim {

/// Everything that a run depends on; drawn from its seed.
struct Options {
  uint64_t seed = 0;
  uint32_t nodes = 2;
  uint32_t connects = 20;  ///< of each node
  uint32_t services = 5;   ///< resolutions of each node
  uint32_t listeners = 2;  ///< of each node, of three services
  uint32_t max_ids = 1000;
  uint8_t max_retries = 5;
  bool reuses_qpns = false;    ///< a queue pair number may still be known to the peer
  bool probes = false;         ///< for peers that have vanished
  bool early_retries = false;  ///< before the peer's time is over
  uint32_t crashes = 0;        ///< of all nodes: everything is forgotten, nothing said
  uint32_t deaths = 0;  ///< the same, and the node says nothing from then on; fewer than nodes

  // What the network does until the calm, in hundredths.
  uint32_t loss = 0;
  uint32_t duplication = 0;
  uint32_t corruption = 0;              ///< of a copy; the checks of agreement do not hold then
  Duration latency = milliseconds(20);  ///< at most
  Duration calm = seconds(60);          ///< when it stops doing so

  uint32_t slow_consumer = 10;  ///< in hundredths
  uint32_t impatience = 20;     ///< in hundredths: rejects or destroys where it could go on
};

Options options_of(uint64_t seed);
std::string to_string(const Options& options);

}  // namespace urxe::cmsim
