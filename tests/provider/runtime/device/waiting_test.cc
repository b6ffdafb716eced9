// SPDX-License-Identifier: BSD-2-Clause
// A thread that waits for other processes does not keep the other threads from the device.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <string>
#include <thread>

#include "packet/engine/udp/udp.h"
#include "provider/runtime/device/runtime_device.h"
#include "tests/packet/engine/engine_fixture.h"
#include "tests/packet/sharing/child_process.h"

namespace urxe::test::waiting_test {
namespace {

constexpr ServiceId kService{0x0000000001061d38};
/// A wait is as long as it is, and a crowded machine may let the test miss one.
constexpr int kAttempts = 8;

DeviceDescription description() {
  DeviceDescription device;
  device.name = "waiting_test";
  device.ifname = "lo";
  device.ifindex = 1;
  device.mtu = 65536;
  device.node_guid = 0x0200'00ff'fe00'0002ULL;
  device.gids = {own_loopback(80)};
  return device;
}

class Waiting : public testing::Test {
 protected:
  void start() {
    Progress::Guard guard(device_->progress());
    ASSERT_TRUE(device_->start());
  }

  /// Whether another thread had the device's lock while `call` waited in one of the system calls.
  template <class Call>
  bool overtakes(Call call, std::initializer_list<long> waits) {
    std::atomic<pid_t> number{0};
    std::atomic<bool> is_over{false};
    std::thread waiter([&] {
      number = gettid();
      call();
      is_over = true;
    });
    bool overtaken = false;
    while (!is_over && !overtaken) {
      if (!is_in_one_of(number, waits)) continue;
      Progress::Guard guard(device_->progress());
      overtaken = !is_over;
    }
    waiter.join();
    return overtaken;
  }

  std::shared_ptr<RuntimeDevice> device_ = std::make_shared<RuntimeDevice>(description());

 private:
  static bool is_in_one_of(pid_t thread, std::initializer_list<long> calls) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/syscall");
    long call = -1;  // the file says "running" of a thread that is not in any
    file >> call;
    return !file.fail() && std::ranges::find(calls, call) != calls.end();
  }
};

/// What poll(2) of libc calls. Newer machines have one of them.
constexpr std::initializer_list<long> kCallsOfPoll = {
#if defined(SYS_poll)
    SYS_poll,
#endif
    SYS_ppoll};

// Another process was stopped as it changed the table of services.
TEST_F(Waiting, AListenerLeavesTheDeviceToOthers) {
  const ChildProcess stopped([](int pipe) {
    const auto directory = SharingDirectory::here();
    if (!directory) return;
    const auto table = (*directory)->open_file("held");
    struct flock whole {};
    whole.l_type = F_WRLCK;
    if (!table || fcntl(table->get(), F_SETLK, &whole) != 0) return;
    write_record(pipe, true);
    pause();
  });
  ASSERT_TRUE(stopped.read<bool>());
  start();
  bool overtaken = false;
  for (int attempt = 0; attempt < kAttempts && !overtaken; ++attempt) {
    const auto listen = [&] {
      const auto listening = device_->listen(kService, own_loopback(80));
      ASSERT_FALSE(listening);
      EXPECT_EQ(listening.error().value, EADDRINUSE);
    };
    overtaken = overtakes(listen, {SYS_clock_nanosleep, SYS_nanosleep});
  }
  EXPECT_TRUE(overtaken);
}

// Another process that shares the address is stopped, so the order of the sockets stays unknown.
TEST_F(Waiting, AnAddressThatIsOpenedLeavesTheDeviceToOthers) {
  std::vector<Gid> addresses;
  for (uint8_t i = 0; i < kAttempts; ++i) {
    addresses.push_back(own_loopback(static_cast<uint8_t>(81 + i)));
  }
  const ChildProcess stopped([&](int pipe) {
    const Slot slot = Slot::acquire().value();
    AddressSharing sharing(slot, 1);
    UdpConfig config;
    config.sharing = &sharing;
    UdpEngine engine(config);
    for (const Gid& address : addresses) {
      if (!engine.open_address(address)) return;
    }
    write_record(pipe, true);
    pause();
  });
  ASSERT_TRUE(stopped.read<bool>());
  start();
  bool overtaken = false;
  for (size_t attempt = 0; attempt < addresses.size() && !overtaken; ++attempt) {
    const auto open = [&] {
      Progress::Guard guard(device_->progress());
      EXPECT_TRUE(device_->open_address(addresses[attempt]));
    };
    overtaken = overtakes(open, kCallsOfPoll);
  }
  EXPECT_TRUE(overtaken);
}

}  // namespace
}  // namespace urxe::test::waiting_test
