// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/dpdk/eal_options.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace urxe::test {
namespace {

using Words = std::vector<std::string>;

const EalHost kHost{3, false, "urxe-7", "/own/memif"};

Words complete(const Words& given, const EalHost& host = kHost) {
  const auto words = complete_eal_options(given, host);
  EXPECT_TRUE(words) << words.error();
  return words.value_or(Words{});
}

bool has(const Words& words, const char* word) {
  return std::ranges::find(words, word) != words.end();
}

TEST(EalOptions, ALibraryInSomebodysProcessNeedsThese) {
  EXPECT_EQ(complete({}), (Words{"--no-huge", "-m256", "-l3", "--no-pci", "--no-shconf",
                                 "--no-telemetry", "--file-prefix=urxe-7", "--log-level=4"}));
}

TEST(EalOptions, UsesHugePagesThatAreThere) {
  const Words words = complete({}, {0, true, "p", ""});
  EXPECT_TRUE(has(words, "--in-memory") && has(words, "--single-file-segments"));
  EXPECT_FALSE(has(words, "--no-huge"));
}

// Expect: what the user says stays, in the form in which EAL cannot mistake it.
TEST(EalOptions, TheUsersWordsStay) {
  const Words words =
      complete({"-l", "1-2", "-m", "64", "--no-huge", "-a", "0000:01:00.0", "--telemetry",
                "--file-prefix", "mine", "--log-level=8", "--vdev", "net_null0"});
  EXPECT_EQ(words,
            (Words{"-l1-2", "-m64", "--no-huge", "-a0000:01:00.0", "--telemetry",
                   "--file-prefix=mine", "--log-level=8", "--vdev=net_null0", "--no-shconf"}));
}

TEST(EalOptions, MemifBuffersHoldAPacket) {
  EXPECT_TRUE(
      has(complete({"--vdev=net_memif0,socket=/s"}), "--vdev=net_memif0,socket=/s,bsize=8192"));
  EXPECT_TRUE(has(complete({"--vdev", "net_memif0,socket=/s,bsize=2048"}),
                  "--vdev=net_memif0,socket=/s,bsize=2048"));
}

// The driver's own has an abstract name, which another user of the host may have taken.
TEST(EalOptions, MemifsThatNameNoSocketMeetAtTheUsers) {
  EXPECT_TRUE(has(complete({"--vdev=net_memif0,role=server,bsize=1"}),
                  "--vdev=net_memif0,role=server,bsize=1,socket=/own/memif,socket-abstract=no"));
  EXPECT_TRUE(has(complete({"--vdev=net_memif0,bsize=1,socket-abstract=yes"}),
                  "--vdev=net_memif0,bsize=1,socket-abstract=yes"));
  EXPECT_FALSE(complete_eal_options({"--vdev=net_memif0"}, {3, false, "urxe-7", ""}));
  EXPECT_TRUE(complete_eal_options({"--vdev=net_memif0,socket=/s"}, {3, false, "urxe-7", ""}));
}

TEST(EalOptions, RefusesWhatEalWouldPrintUsageFor) {
  for (const Words& given :
       {Words{"--vdef=x"}, Words{"vdev"}, Words{"-"}, Words{""}, Words{"--"}, Words{"-z"},
        Words{"--vdev"}, Words{"-m"}, Words{"--no-huge=1"}, Words{"-h"}, Words{"--help"},
        Words{"-v"}, Words{"--proc-type=secondary"}, Words{"--proc-type", "auto"},
        Words{"--syslog"}}) {
    EXPECT_FALSE(complete_eal_options(given, kHost)) << given[0];
  }
}

TEST(EalOptions, NamesTheDevices) {
  EXPECT_EQ(named_devices({"--vdev", "net_null0,a=1", "-a0000:01:00.0,b=2", "-l", "3",
                           "--allow=0000:02:00.0"}),
            (Words{"net_null0,a=1", "0000:01:00.0,b=2", "0000:02:00.0"}));
  EXPECT_EQ(name_of_device("net_null0,a=1"), "net_null0");
  EXPECT_EQ(name_of_device("0000:02:00.0"), "0000:02:00.0");
}

std::string key(const char* device) {
  return key_of_device(device).text;
}

// Expect: what only one process can have, has one key, however it is named.
TEST(EalOptions, ADeviceThatOneProcessHasHasAKey) {
  EXPECT_EQ(key("net_memif0,role=server"), key("net_memif9,bsize=1,role=server,id=3"));
  EXPECT_NE(key("net_memif0,role=server"), key("net_memif0"));
  EXPECT_EQ(key("net_memif0"), key("net_memif0,id=0,role=client,socket=/run/memif.sock"));
  EXPECT_NE(key("net_memif0,id=0"), key("net_memif0,id=1"));
  EXPECT_NE(key("net_memif0,role=server,socket=/a"), key("net_memif0,role=server,socket=/b"));
  EXPECT_NE(key("net_memif0,socket=/a"), key("net_memif0,socket=/a,socket-abstract=no"));
  EXPECT_EQ(key("net_af_packet0,iface=eth0"), key("net_af_packet1,qpairs=1,iface=eth0"));
  EXPECT_EQ(key("0000:01:00.0"), key("0000:01:00.0,mprq_en=1"));
  EXPECT_EQ(key("net_null0"), "");
  EXPECT_NE(key("net_virtio_user0,path=/dev/vhost-net,iface=tap0"),
            key("net_virtio_user1,path=/dev/vhost-net,iface=tap1"));
  EXPECT_EQ(key("net_virtio_user0,path=/dev/vhost-net,iface=tap0"),
            key("net_virtio_user1,iface=tap0,path=/dev/vhost-net"));
  EXPECT_EQ(key("net_virtio_user0,path=/dev/vhost-net"), "");
  EXPECT_EQ(key("net_virtio_user0,path=/tmp/s"), key("net_virtio_user1,path=/tmp/s"));
}

TEST(EalOptions, KnowsWhereAKeyIsValid) {
  EXPECT_TRUE(key_of_device("net_memif0,role=server").of_network);
  EXPECT_FALSE(key_of_device("net_memif0,role=server,socket-abstract=no").of_network);
  EXPECT_TRUE(key_of_device("net_af_packet0,iface=eth0").of_network);
  EXPECT_FALSE(key_of_device("net_vhost0,iface=/tmp/x").of_network);
  EXPECT_FALSE(key_of_device("0000:01:00.0").of_network);
  EXPECT_EQ(key_of_device("net_memif0,role=server,socket-abstract=no,socket=/tmp/m").memif_socket,
            "/tmp/m");
  EXPECT_EQ(key_of_device("net_memif0,role=client,socket-abstract=no,socket=/tmp/m").memif_socket,
            "");
  EXPECT_EQ(key_of_device("net_memif0,role=server").memif_socket, "");
}

}  // namespace
}  // namespace urxe::test
