// SPDX-License-Identifier: BSD-2-Clause
// urxe_ud_verify: datagrams of the UD transport, with every byte, completion and GRH checked on
// both sides. Plain verbs: it runs on any RDMA device.
#include <cstdio>

#include "endpoint.h"
#include "exchange.h"
#include "options.h"
#include "tests/apps/rc_verify/control.h"
#include "tests/apps/rc_verify/failure.h"

namespace ud_verify {
namespace {

constexpr uint32_t kQKey = 0x11335577;
constexpr uint32_t kBarrierReady = 0x0d0;
constexpr uint32_t kBarrierEnd = 0x0de;

void print_grh(const std::vector<uint8_t>& grh) {
  std::printf("grh ");
  for (uint8_t byte : grh) std::printf("%02x", byte);
  std::printf("\n");
}

void run_all(Exchange& exchange, const Options& options, const std::vector<Case>& cases) {
  exchange.run_cases(cases);
  print_grh(exchange.last_grh());
  exchange.run_bursts(options.largest);
  exchange.run_wrong_qkey();
  std::printf("%zu kinds of datagrams up to %u bytes verified\n", cases.size(), options.largest);
}

void run(Options options) {
  using rc_verify::Control;
  const bool is_server = options.host.empty();
  Control control = is_server ? Control::accept_one(options.port)
                              : Control::connect_to(options.host, options.port);
  if (is_server) {
    options.largest = control.receive<uint32_t>();
    options.controlled_qkey = control.receive<bool>();
  } else {
    control.send(options.largest);
    control.send(options.controlled_qkey);
  }
  Endpoint endpoint(options, control, kQKey);
  const Address peer = control.exchange(std::vector<Address>{endpoint.address()})[0];
  Exchange exchange(endpoint, control, peer, is_server, options.gid_index);
  control.barrier(kBarrierReady);
  if (options.controlled_qkey) {
    exchange.run_controlled_qkey();
  } else {
    run_all(exchange, options, all_cases(options.largest, endpoint.address(), peer));
  }
  control.barrier(kBarrierEnd);
  std::printf("verified\n");
}

}  // namespace
}  // namespace ud_verify

int main(int argc, char** argv) {
  const ud_verify::Options options = ud_verify::parse_options(argc, argv);
  try {
    ud_verify::run(options);
  } catch (const rc_verify::Failure& failure) {
    std::fprintf(stderr, "urxe_ud_verify: %s: %s\n", options.host.empty() ? "server" : "client",
                 failure.what());
    return static_cast<int>(failure.outcome());
  }
  return 0;
}
