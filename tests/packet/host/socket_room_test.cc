// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/socket_room.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <fstream>
#include <functional>
#include <string>

#include "packet/host/file_descriptor.h"

namespace urxe::test {
namespace {

int room(int fd, int option) {
  int bytes = 0;
  socklen_t size = sizeof bytes;
  EXPECT_EQ(getsockopt(fd, SOL_SOCKET, option, &bytes, &size), 0);
  return bytes;
}

/// Expect: as much as was asked for, twice, if the process may; else as much as the limit allows.
void expect_room(const char* limit_file, int beyond_limit, int option,
                 const std::function<void(int, int)>& ask) {
  int limit = 0;
  std::ifstream(limit_file) >> limit;
  if (limit == 0) GTEST_SKIP() << "this network namespace does not tell " << limit_file;
  const int wanted = limit + 4096;
  FileDescriptor probe(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const bool may = setsockopt(probe.get(), SOL_SOCKET, beyond_limit, &wanted, sizeof wanted) == 0;
  FileDescriptor fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ask(fd.get(), wanted);
  EXPECT_EQ(room(fd.get(), option), 2 * (may ? wanted : limit));
}

TEST(SocketRoom, ToReceive) {
  expect_room("/proc/sys/net/core/rmem_max", SO_RCVBUFFORCE, SO_RCVBUF, ask_receive_room);
}

TEST(SocketRoom, ToSend) {
  expect_room("/proc/sys/net/core/wmem_max", SO_SNDBUFFORCE, SO_SNDBUF, ask_send_room);
}

}  // namespace
}  // namespace urxe::test
