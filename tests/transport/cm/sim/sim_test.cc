// SPDX-License-Identifier: BSD-2-Clause
// Connection managers on a network that fails, in virtual time. URXE_CM_SIM_SEEDS says how many
// seeds are run, URXE_CM_SIM_SEED which one is the first.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/transport/cm/sim/sim_world.h"

namespace urxe::cmsim {
namespace {

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 0);
}

using Kind = CmEvent::Kind;

Ledger::Events run(const Options& options) {
  World world(options);
  for (const std::string& failure : world.run()) {
    ADD_FAILURE() << failure << "\n" << to_string(options);
  }
  return world.ledger().all_events();
}

TEST(CmSimulation, EveryConversationEndsAndNothingIsLeft) {
  const uint64_t first = from_environment("URXE_CM_SIM_SEED", 1);
  const uint64_t count = from_environment("URXE_CM_SIM_SEEDS", 300);
  Ledger::Events events{};
  for (uint64_t seed = first; seed < first + count && !::testing::Test::HasFailure(); ++seed) {
    const Ledger::Events here = run(options_of(seed));
    for (size_t i = 0; i < events.size(); ++i) events[i] += here[i];
  }
  if (count < 100) return;
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_GT(events[i], 0u) << "no event " << i << ": the simulation does not reach it";
  }
}

TEST(CmSimulation, WhereNothingIsLostAndNobodySlowNothingTimesOut) {
  for (uint64_t seed = 1; seed <= 50 && !::testing::Test::HasFailure(); ++seed) {
    Options options = options_of(seed);
    options.loss = options.duplication = options.corruption = options.slow_consumer = 0;
    options.latency = milliseconds(5);
    options.reuses_qpns = false;
    options.crashes = options.deaths = 0;
    options.max_ids = 1000;
    options.max_retries = 2;  // a LAP may overtake the RTU
    const Ledger::Events events = run(options);
    for (const Kind kind :
         {Kind::kRequestTimeout, Kind::kReplyTimeout, Kind::kDisconnectTimeout,
          Kind::kAlternateTimeout, Kind::kServiceTimeout, Kind::kPeerGone, Kind::kPeerSilent}) {
      EXPECT_EQ(events[static_cast<size_t>(kind)], 0u)
          << static_cast<int>(kind) << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace urxe::cmsim
