// SPDX-License-Identifier: BSD-2-Clause
// Idle connections on a network that loses half of what it is given, in virtual time: whoever lives
// is not taken for dead, and whoever has died is found out.
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "tests/transport/cm/sim/sim_network.h"
#include "tests/transport/cm/sim/sim_node.h"
#include "transport/cm/connection_manager.h"

namespace urxe::cmsim {
namespace {

using Kind = CmEvent::Kind;

constexpr ServiceId kService{0x0106'0001};
constexpr size_t kEnds = 3;
constexpr uint32_t kConnections = 4;  ///< of each end with each other one
constexpr Duration kQuiet = seconds(1000);
/// A question's time, the silence, and an answer that is still on its way.
constexpr Duration kNoticed = seconds(2) + milliseconds(250) * 100 + seconds(10);

CmConfig config_of(uint32_t index) {
  CmConfig config;
  config.ca_guid = kGuidBase + index;
  config.id_prefix = index;
  config.id_secret = {index, 1};
  config.probe_interval = seconds(2);
  config.probe_guid_mask = ~uint64_t{0xff};
  config.probe_guid_value = kGuidBase;
  return config;
}

/// Ends that connect with one another and then say nothing any more.
class IdleWorld {
 public:
  explicit IdleWorld(const Options& options) : options_(options), network_(options_, options.seed) {
    for (uint32_t i = 0; i < kEnds; ++i) {
      ends_[i] = std::make_unique<ConnectionManager>(config_of(i));
      EXPECT_TRUE(ends_[i]->listen(kService, ~uint64_t{0}, std::nullopt));
    }
    for (uint32_t i = 0; i < kEnds; ++i) {
      for (uint32_t n = 0; n < kConnections; ++n) {
        for (uint32_t peer = 0; peer < i; ++peer) connect(i, peer);
      }
    }
  }

  void run(Duration time) {
    const Instant until = now_ + time;
    for (auto at = next(); at && *at <= until; at = next()) {
      now_ = std::max(now_, *at);
      while (const auto mad = network_.take_due(now_)) deliver(*mad);
      for (uint32_t i = 0; i < kEnds; ++i) drive(i);
    }
    now_ = until;
  }
  void kill(uint32_t index) { ends_[index].reset(); }

  [[nodiscard]] uint32_t established(uint32_t index) const { return established_[index]; }
  [[nodiscard]] uint32_t silent(uint32_t index) const { return silent_[index]; }

 private:
  void connect(uint32_t from, uint32_t to) {
    CmReq req;
    req.service_id = kService;
    req.local_qpn = Qpn{0x100 + qpn_++};
    req.remote_cm_response_timeout = req.local_cm_response_timeout = 18;
    req.max_cm_retries = 15;
    req.primary.ack_timeout = 15;
    Flow flow;
    flow.source = node_gid(from);
    flow.destination = node_gid(to);
    EXPECT_TRUE(ends_[from]->connect(req, flow, 14, now_));
  }

  std::optional<Instant> next() const {
    std::optional<Instant> next = network_.next();
    for (const auto& end : ends_) {
      if (!end) continue;
      if (end->has_outgoing()) return now_;
      const auto theirs = end->next_deadline();
      if (theirs && (!next || *theirs < *next)) next = theirs;
    }
    return next;
  }

  void deliver(const OutgoingMad& mad) {
    for (uint32_t i = 0; i < kEnds; ++i) {
      if (ends_[i] && node_gid(i) == mad.flow.destination) {
        ends_[i]->receive(mad.mad, mad.flow, now_);
      }
    }
  }

  void drive(uint32_t index) {
    if (!ends_[index]) return;
    ConnectionManager& cm = *ends_[index];
    cm.advance(now_);
    while (const auto event = cm.take_event()) handle(index, cm, *event);
    while (const OutgoingMad* mad = cm.take_outgoing()) network_.send(*mad, now_);
  }

  void handle(uint32_t index, ConnectionManager& cm, const CmEvent& event) {
    switch (event.kind) {
      case Kind::kRequest: {
        CmRep rep;
        rep.local_qpn = Qpn{0x100 + qpn_++};
        EXPECT_TRUE(cm.accept(event.id, rep, now_));
        return;
      }
      case Kind::kReply:
        EXPECT_TRUE(cm.confirm(event.id, {}, now_));
        [[fallthrough]];
      case Kind::kEstablished:
        ++established_[index];
        return;
      case Kind::kPeerSilent:
        ++silent_[index];
        --established_[index];
        return;
      case Kind::kTimeWaitExit:
        return;
      default:
        ADD_FAILURE() << "event " << static_cast<int>(event.kind) << ", seed " << options_.seed;
    }
  }

  Options options_;
  Network network_;
  Instant now_;
  std::array<std::unique_ptr<ConnectionManager>, kEnds> ends_;
  std::array<uint32_t, kEnds> established_{};
  std::array<uint32_t, kEnds> silent_{};
  uint32_t qpn_ = 0;
};

Options options_of_run(uint64_t seed) {
  Options options;
  options.seed = seed;
  options.loss = seed % 2 == 0 ? 50 : static_cast<uint32_t>(seed % 50);
  options.duplication = static_cast<uint32_t>(seed % 3 * 10);
  options.latency = milliseconds(seed % 5 == 0 ? 2000 : 20);
  options.calm = seconds(1'000'000);
  return options;
}

TEST(CmProbeSimulation, WhoeverLivesIsNotTakenForDeadAndWhoeverDiesIsFoundOut) {
  constexpr uint32_t kOfEach = kConnections * (kEnds - 1);
  for (uint64_t seed = 1; seed <= 50 && !::testing::Test::HasFailure(); ++seed) {
    IdleWorld world(options_of_run(seed));
    world.run(seconds(60));
    world.run(kQuiet);
    for (uint32_t i = 0; i < kEnds; ++i) {
      EXPECT_EQ(world.established(i), kOfEach) << "end " << i << ", seed " << seed;
    }
    world.kill(0);
    world.run(kNoticed);
    for (uint32_t i = 1; i < kEnds; ++i) {
      EXPECT_EQ(world.silent(i), kConnections) << "end " << i << ", seed " << seed;
    }
    world.run(kQuiet);
    for (uint32_t i = 1; i < kEnds; ++i) {
      EXPECT_EQ(world.established(i), kOfEach - kConnections) << "end " << i << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace urxe::cmsim
