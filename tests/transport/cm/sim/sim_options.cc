// SPDX-License-Identifier: BSD-2-Clause
#include "tests/transport/cm/sim/sim_options.h"

#include <sstream>

#include "tests/support/random.h"

namespace urxe::cmsim {

Options options_of(uint64_t seed) {
  Random random(seed);
  Options options;
  options.seed = seed;
  options.nodes = random.range32(1, 4);
  options.connects = random.range32(5, 40);
  options.services = random.range32(0, 10);
  options.listeners = random.range32(1, 3);
  options.max_ids = random.percent(20) ? random.range32(3, 20) : 1000;
  options.max_retries = static_cast<uint8_t>(random.below(8));
  options.reuses_qpns = random.percent(30);
  options.probes = random.percent(30);
  if (random.percent(80)) {
    options.loss = random.range32(0, 40);
    options.duplication = random.range32(0, 30);
    options.corruption = random.percent(30) ? random.range32(1, 30) : 0;
  }
  options.crashes = random.percent(40) ? random.range32(1, 5) : 0;
  options.latency =
      milliseconds(random.percent(30) ? random.range32(200, 3000) : random.range32(1, 50));
  options.slow_consumer = random.range32(0, 40);
  options.impatience = random.range32(0, 50);
  options.early_retries = random.percent(50);
  options.deaths = random.percent(40) ? random.range32(0, options.nodes - 1) : 0;
  return options;
}

std::string to_string(const Options& o) {
  std::ostringstream text;
  text << "seed " << o.seed << ": nodes " << o.nodes << ", connects " << o.connects << ", services "
       << o.services << ", listeners " << o.listeners << ", max_ids " << o.max_ids
       << ", max_retries " << static_cast<int>(o.max_retries) << ", reuses_qpns " << o.reuses_qpns
       << ", early_retries " << o.early_retries << ", probes " << o.probes << ", crashes "
       << o.crashes << ", deaths " << o.deaths << ", loss " << o.loss << "%, duplication "
       << o.duplication << "%, corruption " << o.corruption << "%, latency "
       << o.latency.ns / 1000000 << " ms, slow_consumer " << o.slow_consumer << "%, impatience "
       << o.impatience << "%";
  return text.str();
}

}  // namespace urxe::cmsim
