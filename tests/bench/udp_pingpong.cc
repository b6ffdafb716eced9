// SPDX-License-Identifier: BSD-2-Clause
// The yardstick for latency: two threads that spin on plain UDP sockets of the loopback interface,
// or sleep in recv(2), and answer each other. Prints the median of half the round trip, in
// microseconds.
//
// usage: urxe_udp_pingpong [--asleep] [ROUNDS] [BYTES]
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr size_t kMostBytes = 1472;
constexpr int kMostRounds = 10'000'000;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

int make_socket() {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    fail("UDP socket");
  return fd;
}

void connect_to(int fd, int peer) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  if (::getsockname(peer, reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
      ::connect(fd, reinterpret_cast<sockaddr*>(&address), length) != 0)
    fail("connect");
}

// Spins if the flags say not to wait.
void receive(int fd, std::vector<char>& buffer, int flags) {
  while (::recvfrom(fd, buffer.data(), buffer.size(), flags, nullptr, nullptr) < 0) {
  }
}

void send_all(int fd, const std::vector<char>& buffer) {
  if (::send(fd, buffer.data(), buffer.size(), 0) < 0) fail("send");
}

}  // namespace

int main(int argc, char** argv) {
  const bool asleep = argc > 1 && std::strcmp(argv[1], "--asleep") == 0;
  const int flags = asleep ? 0 : MSG_DONTWAIT;
  if (asleep) {
    --argc;
    ++argv;
  }
  const int rounds = std::clamp(argc > 1 ? std::atoi(argv[1]) : 20000, 1, kMostRounds);
  // 8 bytes of payload behind a BTH, a RETH and an ICRC.
  const size_t bytes =
      std::clamp<size_t>(argc > 2 ? std::strtoul(argv[2], nullptr, 0) : 40, 1, kMostBytes);
  const int ours = make_socket();
  const int theirs = make_socket();
  connect_to(ours, theirs);
  connect_to(theirs, ours);

  std::thread echo([&] {
    std::vector<char> buffer(bytes);
    for (int i = 0; i < rounds; ++i) {
      receive(theirs, buffer, flags);
      send_all(theirs, buffer);
    }
  });
  using Clock = std::chrono::steady_clock;
  std::vector<double> half_trips;
  half_trips.reserve(static_cast<size_t>(rounds));
  std::vector<char> buffer(bytes);
  for (int i = 0; i < rounds; ++i) {
    const auto start = Clock::now();
    send_all(ours, buffer);
    receive(ours, buffer, flags);
    half_trips.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count() /
                         2);
  }
  echo.join();
  std::nth_element(half_trips.begin(), half_trips.begin() + rounds / 2, half_trips.end());
  std::printf("%.3f\n", half_trips[static_cast<size_t>(rounds) / 2]);
  ::close(ours);
  ::close(theirs);
  return 0;
}
