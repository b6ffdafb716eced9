// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "packet/engine/raw/raw.h"
#include "packet/host/file_descriptor.h"
#include "packet/sharing/address_sharing.h"
#include "packet/sharing/slots/slots.h"
#include "tests/packet/engine/raw/frame_samples.h"
#include "tests/support/isolation.h"

namespace urxe::test {

/// A network namespace that this thread can enter.
class Namespace {
 public:
  static FileDescriptor open_current() {
    return FileDescriptor(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  }
  explicit Namespace(FileDescriptor fd) : fd_(std::move(fd)) {}
  [[nodiscard]] bool enter() const { return setns(fd_.get(), CLONE_NEWNET) == 0; }
  /// The words by which `ip` knows it.
  [[nodiscard]] std::string name() const {
    return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd_.get());
  }

 private:
  FileDescriptor fd_;
};

/// One end of a veth pair: a namespace, an interface with addresses, and a process's share in them.
/// Each call is made in the namespace, and returns to the one before.
class Host {
 public:
  Host(const Namespace& home, FileDescriptor fd, std::string ifname, uint8_t last)
      : home_(home), own_(std::move(fd)), ifname_(std::move(ifname)), last_(last) {}

  template <class Call>
  auto in(Call call) const {
    EXPECT_TRUE(own_.enter());
    struct Back {
      const Namespace& to;
      ~Back() { EXPECT_TRUE(to.enter()); }
    } back{home_};
    return call();
  }
  [[nodiscard]] bool run(const std::string& command) const {
    return in([&] { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; });
  }
  [[nodiscard]] bool configure() {
    const std::string n = std::to_string(last_);
    const bool done = run("ip link set lo up && ip link set " + ifname_ + " address " + mac_text() +
                          " mtu 9000 && ip addr add 10.98.0." + n + "/24 dev " + ifname_ +
                          " && ip addr add fd00:98::" + n + "/64 dev " + ifname_ +
                          " nodad && ip link set " + ifname_ + " up");
    ifindex_ = in([&] { return if_nametoindex(ifname_.c_str()); });
    return done && ifindex_ != 0;
  }
  [[nodiscard]] Gid v4() const { return ipv4(10, 98, 0, last_); }
  [[nodiscard]] Gid v6() const { return ipv6(last_); }
  [[nodiscard]] MacAddress mac() const { return {2, 0, 0, 0, 0, last_}; }
  [[nodiscard]] std::string mac_text() const { return "02:00:00:00:00:0" + std::to_string(last_); }
  [[nodiscard]] const std::string& ifname() const { return ifname_; }
  [[nodiscard]] uint32_t ifindex() const { return ifindex_; }
  [[nodiscard]] const Namespace& space() const { return own_; }

 private:
  const Namespace& home_;
  Namespace own_;
  std::string ifname_;
  uint8_t last_;
  uint32_t ifindex_ = 0;
};

template <class Engine>
class RawMember;
using Raw = RawMember<RawEngine>;
using Udp = RawMember<UdpEngine>;

/// A process on a host, with a raw or a UDP engine and both addresses of the host open.
template <class Engine>
class RawMember {
 public:
  explicit RawMember(const Host& on, Duration patience = kUsualPatience)
      : host(on), slot(Slot::acquire().value()), sharing(slot, on.ifindex()) {
    host.in([&] { start(patience); });
  }
  [[nodiscard]] uint32_t qpn() const { return make_qpn(slot.number(), 5).value(); }

  const Host& host;
  Slot slot;
  AddressSharing sharing;
  std::unique_ptr<Engine> engine;
  uint16_t port = 0;  ///< to send from: 0xc123 for the first process of a host

 private:
  void start(Duration patience) {
    UdpConfig config;
    config.patience = patience;
    config.interface_index = host.ifindex();
    config.sharing = &sharing;
    if constexpr (std::is_same_v<Engine, RawEngine>) {
      auto opened = RawEngine::open({.udp = config, .ring_blocks = 8});
      ASSERT_TRUE(opened) << opened.error().what;
      engine = *std::move(opened);
    } else {
      engine = std::make_unique<UdpEngine>(config);
    }
    for (const Gid& address : {host.v4(), host.v6()}) {
      const auto opened = engine->open_address(address);
      ASSERT_TRUE(opened) << opened.error().what;
      port = engine->claim_source_port(address, 0xc123).value();
    }
  }
};

/// Two hosts that a veth pair joins. This thread's own namespace is neither's.
class TwoHosts : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!isolated() || geteuid() != 0) GTEST_SKIP() << "needs root, for network namespaces";
    home_.emplace(Namespace::open_current());
    left_.emplace(*home_, make_namespace(), "left", 1);
    right_.emplace(*home_, make_namespace(), "right", 2);
    if (!left_->run("ip link add left type veth peer name right netns " + right_->space().name())) {
      GTEST_SKIP() << "cannot make a veth pair";
    }
    ASSERT_TRUE(left_->configure());
    ASSERT_TRUE(right_->configure());
  }
  FileDescriptor make_namespace() {
    EXPECT_EQ(unshare(CLONE_NEWNET), 0);
    FileDescriptor made = Namespace::open_current();
    EXPECT_TRUE(home_->enter());
    return made;
  }
  /// So that the first packet already can go as a frame.
  void introduce() {
    for (const auto& [host, peer] : {std::pair{&*left_, &*right_}, {&*right_, &*left_}}) {
      for (const Gid& address : {peer->v4(), peer->v6()}) {
        ASSERT_TRUE(host->run("ip neigh replace " + address.to_string() + " lladdr " +
                              peer->mac_text() + " dev " + host->ifname()));
      }
    }
  }
  /// Puts a frame on the wire as it is.
  void inject(const Host& from, const std::vector<uint8_t>& frame) {
    from.in([&] {
      const FileDescriptor fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
      sockaddr_ll to{};
      to.sll_family = AF_PACKET;
      to.sll_ifindex = static_cast<int>(from.ifindex());
      EXPECT_EQ(sendto(fd.get(), frame.data(), frame.size(), 0,
                       reinterpret_cast<const sockaddr*>(&to), sizeof to),
                static_cast<ssize_t>(frame.size()));
    });
  }

  std::optional<Namespace> home_;
  std::optional<Host> left_;
  std::optional<Host> right_;
};

inline Flow flow_between(const Host& from, const Host& to, bool v6 = false) {
  return {v6 ? from.v6() : from.v4(), v6 ? to.v6() : to.v4(), 0xc123, 0, 64};
}

inline void send_packets(PacketEngine& from, const Flow& flow, uint32_t qpn, uint32_t psn,
                         size_t count, size_t payload) {
  TxBatch batch(from.batch_limits());
  for (size_t i = 0; i < count; ++i) {
    append(batch, flow, send_only(qpn, psn + static_cast<uint32_t>(i)), payload);
  }
  from.lane(0).transmit(batch);
  EXPECT_TRUE(batch.empty());
}

inline void expect_sequence(const std::vector<Received>& got, const Flow& flow, uint32_t psn,
                            size_t count, size_t payload) {
  ASSERT_EQ(got.size(), count);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t expected = psn + static_cast<uint32_t>(i);
    ASSERT_TRUE(got[i].headers) << drop_reason_name(got[i].headers.error());
    EXPECT_EQ(got[i].headers->bth.psn, Psn(expected));
    EXPECT_EQ(got[i].payload, pattern(expected, payload));
    EXPECT_EQ(got[i].flow, flow);
  }
}

/// What comes in some empty looks, enough for an engine to look at all that it has.
inline size_t drain(EngineLane& lane) {
  size_t count = 0;
  for (int look = 0; look < 300; ++look) count += lane.receive().size();
  return count;
}

}  // namespace urxe::test
