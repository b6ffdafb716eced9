// SPDX-License-Identifier: BSD-2-Clause
// What a RuntimeDevice does for the consumer of its connection manager. Two devices of one
// interface stand for two processes: each has a slot, an engine and a thread of its own.
#include <gtest/gtest.h>

#include <cerrno>
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "packet/host/clock.h"
#include "provider/runtime/device/runtime_device.h"
#include "provider/runtime/events/event_sink.h"
#include "tests/packet/engine/engine_fixture.h"
#include "tests/support/isolation.h"

namespace urxe::test {
namespace {

constexpr ServiceId kService{0x0000000001061d37};
constexpr uint8_t kLifetime = 16;

/// What the devices have told, and how often.
class Told {
 public:
  static Told& instance() {
    static auto* const told = new Told;
    return *told;
  }
  static void events(RuntimeDevice& device) { instance().count(device, &Counts::events); }
  static void changed(RuntimeDevice& device) { instance().count(device, &Counts::changes); }
  static bool at_exit(RuntimeDevice& device) {
    return !instance().last_words || instance().last_words(device);
  }

  /// Waits until `device` has told of events more often than `before`.
  int wait_for_events(RuntimeDevice& device, int before) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kPatience, [&] {
      return counts_[&device].events > before;
    })) << "nobody has told of an event";
    return counts_[&device].events;
  }
  int changes(RuntimeDevice& device) {
    std::lock_guard lock(mutex_);
    return counts_[&device].changes;
  }
  /// For new devices: they may be where others were.
  void forget() {
    std::lock_guard lock(mutex_);
    counts_.clear();
    last_words = nullptr;
  }
  std::function<bool(RuntimeDevice&)> last_words;

 private:
  struct Counts {
    int events = 0;
    int changes = 0;
  };
  void count(RuntimeDevice& device, int Counts::*which) {
    std::lock_guard lock(mutex_);
    ++(counts_[&device].*which);
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<RuntimeDevice*, Counts> counts_;
};

constexpr CommunicationSink kSink{
    .events = Told::events, .interface_changed = Told::changed, .at_exit = Told::at_exit};

DeviceDescription description(std::vector<Gid> gids) {
  DeviceDescription device;
  device.name = "communication_test";
  device.ifname = "lo";
  device.ifindex = 1;
  device.mtu = 65536;
  device.node_guid = 0x0200'00ff'fe00'0001ULL;
  device.gids = std::move(gids);
  return device;
}

/// One process's device; nothing is done for it but what its own thread does.
struct Process {
  explicit Process(std::vector<Gid> gids)
      : device(std::make_shared<RuntimeDevice>(description(std::move(gids)))) {}
  /// The oldest event, once there is one.
  CmEvent next_event() {
    int told = 0;
    for (;;) {
      {
        Progress::Guard guard(device->progress());
        if (auto event = device->device().cm().take_event()) return *std::move(event);
      }
      if (testing::Test::HasFailure()) return {};
      told = Told::instance().wait_for_events(*device, told);
    }
  }
  Expected<ListenerId, Errno> listen(const std::optional<Gid>& local) {
    return device->listen(kService, local);
  }
  CommId connect(const Gid& from, const Gid& to) {
    Progress::Guard guard(device->progress());
    EXPECT_TRUE(device->start());
    EXPECT_TRUE(device->open_address(from));
    CmReq req;
    req.service_id = kService;
    req.local_qpn = Qpn(0x22);
    req.remote_cm_response_timeout = req.local_cm_response_timeout = 14;
    req.max_cm_retries = 15;
    req.path_mtu = 3;
    Flow flow;
    flow.source = from;
    flow.destination = to;
    return device->device().cm().connect(req, flow, kLifetime, clock_now()).value_or(CommId{});
  }
  template <class Verb>
  auto with_cm(Verb verb) {
    Progress::Guard guard(device->progress());
    return verb(device->device().cm());
  }
  std::shared_ptr<RuntimeDevice> device;
};

class Communication : public testing::Test {
 protected:
  void SetUp() override {
    // A service is one process's among those of a user and a network.
    if (!isolated()) GTEST_SKIP() << "needs a network namespace of its own";
    register_communication_sink(kSink);
    Told::instance().forget();
  }
  void TearDown() override { Told::instance().forget(); }
  /// The passive side's id of a new connection from b to a, both sides established.
  CommId establish(CommId* active_id) {
    EXPECT_TRUE(a_.listen(std::nullopt));
    *active_id = b_.connect(address_, address_);
    const CmEvent request = a_.next_event();
    EXPECT_EQ(request.kind, CmEvent::Kind::kRequest);
    CmRep rep;
    rep.local_qpn = Qpn(0x11);
    EXPECT_TRUE(a_.with_cm([&](auto& cm) { return cm.accept(request.id, rep, clock_now()); }));
    const CmEvent reply = b_.next_event();
    EXPECT_EQ(reply.kind, CmEvent::Kind::kReply);
    EXPECT_TRUE(b_.with_cm([&](auto& cm) { return cm.confirm(reply.id, {}, clock_now()); }));
    EXPECT_EQ(a_.next_event().kind, CmEvent::Kind::kEstablished);
    return request.id;
  }
  Gid address_ = own_loopback(70);
  Process a_{{address_}};
  Process b_{{address_}};
};

TEST_F(Communication, DevicesWithoutQueuePairsConnectByTheirOwnThreads) {
  CommId active;
  const CommId passive = establish(&active);
  Progress::Guard guard(a_.device->progress());
  EXPECT_EQ(passive.value() >> kCommIdIndexBits, a_.device->first_lane().slot())
      << "ids bear the process's slot";
}

TEST_F(Communication, OneProcessListens) {
  const auto listener = a_.listen(address_);
  ASSERT_TRUE(listener);
  const auto second = b_.listen(address_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().value, EADDRINUSE);
  {
    Progress::Guard guard(a_.device->progress());
    a_.device->stop_listening(*listener);
  }
  EXPECT_TRUE(b_.listen(address_));
}

TEST_F(Communication, WhereNobodyListensTheAnswerIsARejection) {
  const CommId id = b_.connect(address_, address_);
  const CmEvent event = b_.next_event();
  EXPECT_EQ(event.kind, CmEvent::Kind::kRejected);
  EXPECT_EQ(event.id, id);
  EXPECT_EQ(std::get<CmRej>(event.body).reason, CmRejectReason::kInvalidServiceId);
}

TEST_F(Communication, AListenerOnAllAddressesHasThoseThatComeLater) {
  const Gid later = own_loopback(72);
  ASSERT_TRUE(a_.listen(std::nullopt));
  a_.device->follow(description({address_, later}));
  EXPECT_EQ(Told::instance().changes(*a_.device), 1);
  b_.connect(address_, later);
  EXPECT_EQ(a_.next_event().kind, CmEvent::Kind::kRequest);
}

// The defect: the sockets of each address that the interface had ever had stayed open, up to
// EMFILE. Expect: they are closed, and a listener has the address again if it comes back.
TEST_F(Communication, AnAddressThatIsLostLeavesNoSockets) {
  const Gid fleeting = own_loopback(72);
  const auto has_sockets = [&] { return find_socket(fleeting, kRoceUdpPort) != -1; };
  a_.device->follow(description({address_, fleeting}));
  ASSERT_TRUE(a_.listen(fleeting));
  EXPECT_TRUE(has_sockets());
  for (int round = 0; round < 2; ++round) {
    a_.device->follow(description({address_}));
    EXPECT_FALSE(has_sockets());
    a_.device->follow(description({address_, fleeting}));
    EXPECT_TRUE(has_sockets());
  }
  b_.connect(address_, fleeting);
  EXPECT_EQ(a_.next_event().kind, CmEvent::Kind::kRequest);
}

// Expect: what a queue pair sends from stays open, because the address may come back while it
// repeats its requests; with the last port the socket goes.
TEST_F(Communication, ALostAddressStaysOpenWhileSomethingSendsFromIt) {
  const Gid fleeting = own_loopback(72);
  ASSERT_TRUE(a_.listen(std::nullopt));
  a_.device->follow(description({address_, fleeting}));
  Lane& lane = a_.device->first_lane();
  const auto locked = [&](auto act) {
    Progress::Guard guard(a_.device->progress());
    return act();
  };
  const auto port = locked([&] { return lane.claim_source_port(fleeting, 0xc123); });
  ASSERT_TRUE(port);
  a_.device->follow(description({address_}));
  EXPECT_NE(find_socket(fleeting, kRoceUdpPort), -1);
  locked([&] {
    lane.release_source_port(fleeting, *port);
    return 0;
  });
  EXPECT_EQ(find_socket(fleeting, kRoceUdpPort), -1);
  EXPECT_EQ(find_socket(fleeting, *port), -1);
}

TEST_F(Communication, AnInterfaceThatGoesIsTold) {
  DeviceDescription gone = description({});
  gone.gone = true;
  a_.device->follow(gone);
  EXPECT_EQ(Told::instance().changes(*a_.device), 1);
  a_.device->follow(gone);
  EXPECT_EQ(Told::instance().changes(*a_.device), 1) << "nothing new";
}

TEST_F(Communication, TheLastWordsOfAProcessAreSent) {
  CommId active;
  const CommId passive = establish(&active);
  Told::instance().last_words = [&](RuntimeDevice& device) {
    return device.device().cm().disconnect(active, {}, clock_now()).has_value();
  };
  b_.device->progress().finish_at_exit();
  const CmEvent event = a_.next_event();
  EXPECT_EQ(event.kind, CmEvent::Kind::kDisconnectRequest);
  EXPECT_EQ(event.id, passive);
}

/// Who must give the last words may wait for a lock whose holder waits for the device's.
TEST_F(Communication, TheLastWordsOfAProcessAreWaitedFor) {
  CommId active;
  const CommId passive = establish(&active);
  std::mutex in_use;
  std::promise<void> taken;
  std::promise<void> asked;
  Told::instance().last_words = [&, told = false](RuntimeDevice& device) mutable {
    if (!std::exchange(told, true)) asked.set_value();
    const std::unique_lock lock(in_use, std::try_to_lock);
    return lock && device.device().cm().disconnect(active, {}, clock_now()).has_value();
  };
  std::thread holder([&] {
    const std::lock_guard lock(in_use);
    taken.set_value();
    asked.get_future().wait();
    const Progress::Guard guard(b_.device->progress());
  });
  taken.get_future().wait();
  b_.device->progress().finish_at_exit();
  EXPECT_EQ(a_.next_event().id, passive);
  holder.join();
}

}  // namespace
}  // namespace urxe::test
