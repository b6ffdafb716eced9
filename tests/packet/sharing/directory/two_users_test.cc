// SPDX-License-Identifier: BSD-2-Clause
// Another user of the host, and a process that becomes another user.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "packet/host/unix_listeners.h"
#include "tests/packet/host/scratch_place.h"
#include "tests/packet/sharing/child_process.h"
#include "tests/packet/sharing/sharing_fixture.h"
#include "tests/support/isolation.h"

namespace urxe::test {
namespace {

constexpr ServiceId kService{0x0000000001061d37};

/// Root shares its addresses, and a stranger does what it can in the same network namespace.
class TwoUsers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    if (!isolated()) GTEST_SKIP() << "needs a network namespace of its own";
  }
  /// Runs `attack` as the stranger, who then stays, and returns its result.
  int as_stranger(const std::function<int()>& attack) {
    strangers_.emplace_back([&](int pipe) {
      write_record(pipe, become_stranger() ? attack() : -1);
      for (;;) pause();
    });
    return strangers_.back().read<int>().value_or(-1);
  }
  static int listen_at(const std::string& name) {
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    const sockaddr_un address = address_of(name);
    const bool bound = bind(fd, reinterpret_cast<const sockaddr*>(&address), size_of(name)) == 0;
    return bound && listen(fd, 8) == 0 ? fd : -1;
  }
  static int connect_to(const std::string& name) {
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
    const sockaddr_un address = address_of(name);
    return connect(fd, reinterpret_cast<const sockaddr*>(&address), size_of(name)) == 0 ? fd : -1;
  }
  static int bind_name(const std::string& path, int type = SOCK_DGRAM) {
    const int fd = socket(AF_UNIX, type, 0);
    const sockaddr_un address = address_of(path);
    if (bind(fd, reinterpret_cast<const sockaddr*>(&address), size_of(path)) != 0) return errno;
    return type == SOCK_DGRAM || listen(fd, 8) == 0 ? 0 : errno;
  }
  static int send_to(const std::string& path) {
    const int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    const sockaddr_un address = address_of(path);
    const char junk[200] = {};
    const ssize_t sent = sendto(fd, junk, sizeof junk, 0,
                                reinterpret_cast<const sockaddr*>(&address), size_of(path));
    return sent < 0 ? errno : 0;
  }
  std::vector<ChildProcess> strangers_;

 private:
  /// A text that begins with '@' is the name of an abstract socket.
  static sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (path[0] == '@') address.sun_path[0] = '\0';
    return address;
  }
  static socklen_t size_of(const std::string& path) {
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  }
};

TEST_F(TwoUsers, AStrangerCannotSendToASocket) {
  const Slot slot = Slot::acquire().value();
  const UnixName name = slot.directory().slot_name(slot.number());
  EXPECT_EQ(as_stranger([&] { return send_to(std::string(name.path())); }), EACCES);
  ForwardReader reader;
  EXPECT_TRUE(std::holds_alternative<std::monostate>(reader.read(slot.forward_fd())));
}

TEST_F(TwoUsers, AStrangerCannotSeeWhatThereIs) {
  const Slot slot = Slot::acquire().value();
  const std::string& path = slot.directory().path();
  EXPECT_EQ(as_stranger([&] { return access(path.c_str(), F_OK) == 0 ? 0 : errno; }), EACCES);
  EXPECT_EQ(as_stranger([&] { return open((path + "/locks").c_str(), O_RDONLY) >= 0 ? 0 : errno; }),
            EACCES);
}

/// How many sockets below the directory the kernel tells of in /proc/net/unix, and how many of them
/// have a slot's number at the end.
struct SeenSockets {
  int all = 0;
  int numbered = 0;
};
SeenSockets see_sockets(const std::string& directory) {
  SeenSockets seen;
  std::ifstream file("/proc/net/unix");
  for (std::string line; std::getline(file, line);) {
    if (line.find(directory) == std::string::npos) continue;
    ++seen.all;
    const std::string last = line.substr(line.rfind('-') + 1);
    if (last.size() <= 3 && last.find_first_not_of("0123456789") == std::string::npos) {
      ++seen.numbered;
    }
  }
  return seen;
}

/// The first bytes of the locks of a file, as /proc/locks tells them.
std::set<uint64_t> see_locks(ino_t file) {
  std::set<uint64_t> places;
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream fields(line);
    const std::vector<std::string> words{std::istream_iterator<std::string>(fields), {}};
    if (words.size() < 3) continue;
    if (words[words.size() - 3].ends_with(":" + std::to_string(file))) {
      places.insert(std::strtoull(words[words.size() - 2].c_str(), nullptr, 10));
    }
  }
  return places;
}

// Once: the paths of the sockets, and the places of the locks, had the numbers of the slots.
TEST_F(TwoUsers, AStrangerCannotTellWhichSlotsAreTaken) {
  std::vector<Slot> slots;
  for (int i = 0; i < 5; ++i) slots.push_back(Slot::acquire().value());
  const std::string& directory = slots[0].directory().path();
  struct stat locks {};
  ASSERT_EQ(stat((directory + "/locks").c_str(), &locks), 0);
  // While others come and go, a look at these files may pass over some.
  EXPECT_EQ(as_stranger([&] {
              SeenSockets seen;
              const bool saw = eventually([&] {
                seen = see_sockets(directory);
                return seen.all >= 5;
              });
              return saw ? seen.numbered : -1;
            }),
            0);
  EXPECT_TRUE(eventually([&] { return see_locks(locks.st_ino).size() >= slots.size(); }))
      << "/proc/locks has none of them";
  EXPECT_EQ(as_stranger([&] {
              std::set<uint64_t> seen;
              for (int look = 0; look < 5; ++look) seen.merge(see_locks(locks.st_ino));
              return static_cast<int>(std::ranges::count_if(
                  seen, [](uint64_t place) { return place > 0 && place <= 2 * kSlots; }));
            }),
            0);
}

// Expect: nobody gets what is for the dead process.
TEST_F(TwoUsers, AStrangerDoesNotInheritADeadProcesssPackets) {
  const Slot survivor = Slot::acquire().value();
  ChildProcess owner([](int pipe) {
    const auto slot = Slot::acquire();
    write_record(pipe, slot ? slot->number() : kSlots);
    pause();
  });
  const uint32_t dead = owner.read<uint32_t>().value_or(kSlots);
  ASSERT_LT(dead, kSlots);
  owner.kill();
  const std::string old = "@urxe/" + std::to_string(geteuid()) + "/slot/" + std::to_string(dead);
  EXPECT_EQ(as_stranger([&] { return bind_name(old); }), 0);
  const UnixName name = survivor.directory().slot_name(dead);
  EXPECT_EQ(as_stranger([&] { return bind_name(std::string(name.path())); }), EACCES);
  EXPECT_EQ(as_stranger([&] { return unlink(name.address.sun_path) == 0 ? 0 : errno; }), EACCES);
  SharingCounters counters;
  ForwardQueue queue(survivor.forward_fd(), counters);
  const std::vector<uint8_t> packet(32);
  EXPECT_FALSE(queue.send(name, {Flow{}, packet.size(), packet}, Instant{}));
}

TEST_F(TwoUsers, AStrangerCannotTakeAllSlots) {
  ASSERT_EQ(as_stranger([] {
              for (uint32_t slot = 0; slot < kSlots; ++slot) {
                const std::string name = "@urxe/0/slot/" + std::to_string(slot);
                if (const int failed = bind_name(name); failed != 0) return failed;
              }
              return 0;
            }),
            0);
  const auto slot = Slot::acquire();
  EXPECT_TRUE(slot) << slot.error().what;
}

TEST_F(TwoUsers, AStrangerCannotTakeTheNamesOfServices) {
  ASSERT_EQ(as_stranger([] { return bind_name("@urxe/0/service/0/0000000001061d37/any"); }), 0);
  Member member;
  EXPECT_TRUE(member.sharing.listen(kService, std::nullopt));
}

// A dead process has left its record. Expect: the service is free, whatever the stranger binds.
TEST_F(TwoUsers, AStrangerCannotKeepAServiceBusy) {
  ChildProcess owner([](int pipe) {
    Member member;
    write_record(pipe, member.sharing.listen(kService, std::nullopt).has_value());
    pause();
  });
  ASSERT_TRUE(owner.read<bool>().value_or(false));
  Member member;
  HolderTable* const table = HolderTable::open(member.slot.directory()).value();
  uint64_t holder = 0;
  for (const auto& record : table->find({HolderKey::Kind::kService, kService.value()})) {
    if (table->lives(record.holder)) holder = record.holder;
  }
  ASSERT_NE(holder, 0U);
  owner.kill();
  char name[64];
  std::snprintf(name, sizeof name, "@urxe/holder/%016llx", static_cast<unsigned long long>(holder));
  ASSERT_EQ(as_stranger([&] { return bind_name(name); }), 0);
  EXPECT_TRUE(member.sharing.listen(kService, std::nullopt));
}

// The stranger's beacon names a directory of root's namespace. Expect: it is not asked.
TEST_F(TwoUsers, AStrangersBeaconIsNotFollowed) {
  const ScratchPlace place;
  const std::string network = "test-" + std::to_string(getpid());
  const std::string name = "@urxe/" + network_directory_prefix(network) + "ffffff/1";
  ASSERT_EQ(as_stranger([&] { return bind_name(name, SOCK_SEQPACKET); }), 0);
  const auto directory = SharingDirectory::open({place.path()}, network);
  ASSERT_TRUE(directory) << directory.error().what;
  EXPECT_TRUE((*directory)->check_alone());
}

// The stranger has many names that could be beacons'. Expect: none costs a connection.
TEST_F(TwoUsers, AFloodOfNamesIsNotAsked) {
  constexpr int kNames = 200;
  const std::string prefix = network_directory_prefix("test-" + std::to_string(getpid()));
  const ChildProcess stranger([&](int pipe) {
    sigset_t resume;
    sigemptyset(&resume);
    sigaddset(&resume, SIGUSR1);
    sigprocmask(SIG_BLOCK, &resume, nullptr);
    if (!become_stranger()) _exit(1);
    std::vector<int> sockets;
    for (int i = 0; i < kNames; ++i) {
      sockets.push_back(listen_at("@urxe/" + prefix + "ffffff/" + std::to_string(i)));
    }
    write_record(pipe, sockets.back() >= 0);
    int signal = 0;
    sigwait(&resume, &signal);
    int asked = 0;
    for (const int fd : sockets) {
      pollfd wait{fd, POLLIN, 0};
      if (poll(&wait, 1, 0) != 0) ++asked;
    }
    write_record(pipe, asked);
  });
  ASSERT_EQ(stranger.read<bool>(), true);
  EXPECT_TRUE(find_beacons(prefix, geteuid()).empty());
  stranger.signal(SIGUSR1);
  EXPECT_EQ(stranger.read<int>(), 0);
}

// The stranger has connected until the beacon takes no more. Expect: it is found all the same.
TEST_F(TwoUsers, AStrangerCannotHideABeacon) {
  const ScratchPlace place;
  const std::string network = "test-" + std::to_string(getpid());
  const std::string prefix = network_directory_prefix(network);
  const auto directory = SharingDirectory::open({place.path()}, network);
  ASSERT_TRUE(directory);
  const Beacon beacon = (*directory)->make_beacon();
  ASSERT_EQ(as_stranger([&] {
              const auto found = list_unix_listeners("urxe/" + prefix, 0);
              if (found.size() != 1) return ENOENT;
              while (connect_to("@" + found[0].name) >= 0) {
              }
              return errno;
            }),
            EAGAIN);
  const auto links = find_beacons(prefix, geteuid());
  ASSERT_EQ(links.size(), 1U);
  EXPECT_FALSE(receive_directory(links[0]));
}

TEST_F(TwoUsers, AStrangerIsNotHandedTheDirectory) {
  const ScratchPlace place;
  const std::string network = "test-" + std::to_string(getpid());
  const auto directory = SharingDirectory::open({place.path()}, network);
  ASSERT_TRUE(directory);
  const Beacon beacon = (*directory)->make_beacon();
  const ChildProcess stranger([&](int pipe) {
    if (!become_stranger()) _exit(1);
    const auto links = find_beacons(network_directory_prefix(network), 0);
    write_record(pipe, links.size());
    const auto handed = links.empty() ? error(ENOENT) : receive_directory(links[0]);
    write_record(pipe, handed.has_value());
  });
  ASSERT_EQ(stranger.read<size_t>(), 1U);
  beacon.answer();
  EXPECT_EQ(stranger.read<bool>(), false);
  // It waits for a second; the test may be away for longer.
  const auto is_handed = [&] {
    const ChildProcess friendly([&](int pipe) {
      const auto links = find_beacons(network_directory_prefix(network), 0);
      write_record(pipe, links.size());
      write_record(pipe, receive_directory(links[0]).has_value());
    });
    EXPECT_EQ(friendly.read<size_t>(), 1U);
    beacon.answer();
    return friendly.read<bool>() == true;
  };
  EXPECT_TRUE(eventually(is_handed));
}

// As servers do that open the device as root and drop their privileges. Expect: they still get what
// others forward to them, forward to others, and can begin to listen.
TEST_F(TwoUsers, AProcessThatBecomesAnotherUserGoesOnSharing) {
  Member root;
  const ChildProcess other([&](int pipe) {
    Member member;
    if (!become_stranger()) _exit(1);
    const std::vector<uint8_t> packet(32);
    write_record(pipe, member.sharing.listen(kService, std::nullopt).has_value());
    write_record(pipe, forward_packets(member.slot.forward_fd(),
                                       root.slot.directory().slot_name(root.slot.number()),
                                       {Flow{}, packet.size(), packet}));
    write_record(pipe, member.slot.number());
    ForwardReader reader;
    EXPECT_TRUE(eventually([&] { return reader.read(member.slot.forward_fd()).index() != 0; }));
    write_record(pipe, 0);
    for (;;) pause();
  });
  EXPECT_EQ(other.read<bool>(), true) << "it listens";
  EXPECT_EQ(other.read<int>(), 0) << "it forwards";
  ForwardReader reader;
  EXPECT_TRUE(std::holds_alternative<PacketRun>(reader.read(root.slot.forward_fd())));
  const auto slot = other.read<uint32_t>();
  ASSERT_TRUE(slot);
  const std::vector<uint8_t> packet(32);
  EXPECT_EQ(forward_packets(root.slot.forward_fd(), root.slot.directory().slot_name(*slot),
                            {Flow{}, packet.size(), packet}),
            0);
  EXPECT_TRUE(other.read<int>()) << "it receives";
  EXPECT_FALSE(root.sharing.listen(kService, std::nullopt)) << "the other one listens";
  SharingCounters counters;
  ForwardQueue queue(root.slot.forward_fd(), counters);
  EXPECT_TRUE(queue.send(root.slot.directory().services_name(*slot),
                         {Flow{}, packet.size(), packet}, Instant{}));
}

}  // namespace
}  // namespace urxe::test
