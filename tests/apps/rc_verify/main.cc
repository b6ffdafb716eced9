// SPDX-License-Identifier: BSD-2-Clause
// urxe_rc_verify: moves patterned data by every operation of the RC or UC transport and checks
// every byte and every completion on both sides. Plain verbs: it runs on any RDMA device.
#include <cstdio>

#include "control.h"
#include "endpoint.h"
#include "failure.h"
#include "options.h"
#include "scenarios.h"

namespace rc_verify {
namespace {

constexpr uint32_t kBarrierConnected = 0xc0;
constexpr uint32_t kBarrierEnd = 0xe0d;

void run_scenarios(Session& session) {
  const uint32_t scenarios = session.test.scenarios;
  // First, while no event of another scenario can be pending.
  if ((scenarios & kSolicited) != 0 && session.test.events == 0) run_solicited(session);
  if ((scenarios & kSizes) != 0) run_sizes(session);
  if ((scenarios & kCounter) != 0) run_shared_counter(session);
  if ((scenarios & kRandom) != 0) run_random(session);
  if ((scenarios & kHuge) != 0) run_huge(session);
  if ((scenarios & kSharedReceiveQueue) != 0) run_shared_receive_queue(session);
  if ((scenarios & kNotReady) != 0) run_not_ready(session);
}

void run(Options options) {
  const bool is_server = options.host.empty();
  Control control = is_server ? Control::accept_one(options.port)
                              : Control::connect_to(options.host, options.port);
  if (is_server) {
    options.test = control.receive<TestOptions>();
  } else {
    control.send(options.test);
  }
  Endpoint endpoint(options, control);
  control.barrier(kBarrierConnected);
  if (!options.quiet) {
    std::printf("connected\n");
    std::fflush(stdout);
  }
  Session session{endpoint, control, options.test, is_server, options.quiet};
  run_scenarios(session);
  control.barrier(kBarrierEnd);
  if (!options.quiet) std::printf("verified\n");
}

}  // namespace
}  // namespace rc_verify

int main(int argc, char** argv) {
  const rc_verify::Options options = rc_verify::parse_options(argc, argv);
  try {
    rc_verify::run(options);
  } catch (const rc_verify::Failure& failure) {
    std::fprintf(stderr, "urxe_rc_verify: %s: %s\n", options.host.empty() ? "server" : "client",
                 failure.what());
    return static_cast<int>(failure.outcome());
  }
  return 0;
}
