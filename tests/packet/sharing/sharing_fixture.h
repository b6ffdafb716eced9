// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <initializer_list>
#include <vector>

#include "packet/engine/udp/udp.h"
#include "packet/sharing/calibration/reuseport_program.h"
#include "packet/sharing/slots/slots.h"
#include "tests/packet/engine/engine_fixture.h"

namespace urxe::test {

inline constexpr uint32_t kQpIndex = 5;

inline uint32_t qpn_of(uint32_t slot) {
  return make_qpn(slot, kQpIndex).value();
}

struct Member {
  Member() : slot(Slot::acquire().value()), sharing(slot, 0), engine(config(sharing)) {}
  static UdpConfig config(AddressSharing& sharing) {
    UdpConfig config;
    config.sharing = &sharing;
    return config;
  }
  Slot slot;
  AddressSharing sharing;
  UdpEngine engine;
};

class Sender {
 public:
  Sender(const Gid& from, const Gid& to) : engine_(UdpConfig{}) {
    EXPECT_TRUE(engine_.open_address(from));
    flow_ = {from, to, engine_.claim_source_port(from, 0xc000).value(), 0, 64};
  }
  void send(uint32_t slot, uint32_t psn, size_t packets = 1) {
    TxBatch batch(engine_.batch_limits());
    for (size_t i = 0; i < packets; ++i) {
      append(batch, flow_, send_only(qpn_of(slot), psn + static_cast<uint32_t>(i)), 16);
    }
    engine_.transmit(batch);
  }
  /// Sends from another source port, for which the kernel's hash chooses anew.
  void change_port() {
    engine_.release_source_port(flow_.source, flow_.source_port);
    flow_.source_port =
        engine_.claim_source_port(flow_.source, static_cast<uint16_t>(flow_.source_port + 1))
            .value();
  }
  UdpEngine& engine() { return engine_; }
  [[nodiscard]] const Flow& flow() const { return flow_; }

 private:
  UdpEngine engine_;
  Flow flow_;
};

/// Two members in this process. Each acts only when the test calls it.
class TwoMembers : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(a_.engine.open_address(address_));
    ASSERT_TRUE(b_.engine.open_address(address_));
    settle();
  }
  /// Waits until neither has anything left to do: no packet, and no search for the order of the
  /// sockets, which may have to wait for its turn.
  void settle() {
    int quiet = 0;
    EXPECT_TRUE(eventually([&] {
      const bool any = !a_.engine.receive().empty() || !b_.engine.receive().empty();
      quiet = any || something_comes() ? 0 : quiet + 1;
      return quiet > 3;
    }));
  }
  bool something_comes() {
    pollfd wait[2] = {{a_.engine.wait_fd(), POLLIN, 0}, {b_.engine.wait_fd(), POLLIN, 0}};
    return poll(wait, 2, 5) != 0;
  }
  /// How often the two wanted to know the order of the sockets.
  [[nodiscard]] uint64_t calibrations() const {
    const CalibrationCounters a = a_.engine.counters().calibration;
    const CalibrationCounters b = b_.engine.counters().calibration;
    return a.searches + a.by_others + b.searches + b.by_others;
  }
  /// Makes the kernel give the packets of `slots` to the socket with index `index`.
  void misdirect(std::initializer_list<uint32_t> slots, uint32_t index) {
    const FileDescriptor extra = open_receive_socket(address_, {}).value();
    std::vector<GroupMember> wrong;
    for (const uint32_t slot : slots) wrong.push_back({slot, index});
    ASSERT_TRUE(attach_reuseport_program(extra.get(), wrong));
  }
  Gid address_ = own_loopback(22);
  Member a_;
  Member b_;
  Sender sender_{own_loopback(23), address_};
};

}  // namespace urxe::test
