// SPDX-License-Identifier: BSD-2-Clause
// Whether a RawEngine can be had, and what it says if not.
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "packet/engine/engine_choice.h"
#include "packet/engine/raw/raw.h"
#include "tests/packet/engine/raw/raw_fixture.h"

namespace urxe::test {
namespace {

class RawOpening : public TwoHosts {};

TEST_F(RawOpening, SaysThatTheRingHasNoMemory) {
  const Slot slot = Slot::acquire().value();
  AddressSharing sharing(slot, left_->ifindex());
  UdpConfig config;
  config.interface_index = left_->ifindex();
  config.sharing = &sharing;
  const auto opened =
      left_->in([&] { return RawEngine::open({.udp = config, .ring_blocks = size_t{1} << 20}); });
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().errno_value, ENOMEM) << opened.error().what;
  EXPECT_NE(opened.error().what.find("receive ring"), std::string::npos);
  EXPECT_NE(opened.error().what.find("What to do"), std::string::npos);
}

TEST_F(RawOpening, SaysThatTheInterfaceIsGone) {
  const Slot slot = Slot::acquire().value();
  AddressSharing sharing(slot, 4711);
  UdpConfig config;
  config.interface_index = 4711;
  config.sharing = &sharing;
  const auto opened = left_->in([&] { return RawEngine::open({.udp = config}); });
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().errno_value, ENODEV);
  EXPECT_NE(opened.error().what.find("the network interface is gone"), std::string::npos);
}

/// Drops CAP_NET_RAW, or takes it again.
void set_net_raw(bool on) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  ASSERT_EQ(syscall(SYS_capget, &header, data), 0);
  const uint32_t bit = 1U << CAP_NET_RAW;
  data[0].effective = on ? data[0].effective | bit : data[0].effective & ~bit;
  ASSERT_EQ(syscall(SYS_capset, &header, data), 0);
}

TEST_F(RawOpening, SaysHowToGetTheCapability) {
  EXPECT_TRUE(check_engine(EngineKind::kRaw));
  set_net_raw(false);
  const auto refused = check_engine(EngineKind::kRaw);
  const auto udp = check_engine(EngineKind::kUdp);
  set_net_raw(true);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(udp);
  EXPECT_EQ(refused.error().errno_value, EPERM);
  for (const char* words : {"CAP_NET_RAW", "setpriv", "--ambient-caps=+net_raw", "--engine udp"}) {
    EXPECT_NE(refused.error().what.find(words), std::string::npos) << words;
  }
  EXPECT_EQ(refused.error().what.find('\n'), std::string::npos);
}

TEST_F(RawOpening, IsForEthernetInterfaces) {
  left_->in([&] {
    EXPECT_EQ(engine_for(EngineChoice::kRaw, left_->ifindex()), EngineKind::kRaw);
    EXPECT_EQ(engine_for(EngineChoice::kAuto, left_->ifindex()), EngineKind::kUdp);
    EXPECT_EQ(engine_for(EngineChoice::kRaw, if_nametoindex("lo")), EngineKind::kUdp);
    EXPECT_EQ(engine_for(EngineChoice::kRaw, 4711), EngineKind::kUdp);
  });
}

TEST(EngineChoice, HasFourWords) {
  EXPECT_EQ(parse_engine_choice("udp").value(), EngineChoice::kUdp);
  EXPECT_EQ(parse_engine_choice("raw").value(), EngineChoice::kRaw);
  EXPECT_EQ(parse_engine_choice("dpdk").value(), EngineChoice::kDpdk);
  EXPECT_EQ(parse_engine_choice("auto").value(), EngineChoice::kAuto);
  EXPECT_EQ(parse_engine_choice("").value(), EngineChoice::kAuto);
  for (const char* wrong : {"dpkd", "RAW", "udp "}) {
    const auto refused = parse_engine_choice(wrong);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(),
              "there is no engine '" + std::string(wrong) + "'; there are udp, raw, dpdk and auto");
  }
}

}  // namespace
}  // namespace urxe::test
