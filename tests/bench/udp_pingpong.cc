// SPDX-License-Identifier: BSD-2-Clause
// The yardstick for latency: two threads that spin on plain UDP sockets of the loopback interface,
// or sleep in recv(2), and answer each other. Prints the median of half the round trip, in
// microseconds.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr size_t kMostBytes = 1472;
constexpr size_t kMostRounds = 10'000'000;

struct Options {
  bool asleep = false;
  size_t rounds = 20000;
  // 8 bytes of payload behind a BTH, a RETH and an ICRC.
  size_t bytes = 40;
};

Options parse(int argc, char** argv) {
  Options options;
  CLI::App app{
      "Two threads that answer each other over plain UDP sockets of the loopback interface. "
      "Prints\n"
      "the median of half the round trip, in microseconds.",
      "urxe_udp_pingpong"};
  app.add_flag("--asleep", options.asleep, "sleep in recv(2); by default both threads spin");
  app.add_option("ROUNDS", options.rounds)
      ->capture_default_str()
      ->check(CLI::Range(size_t{1}, kMostRounds));
  app.add_option("BYTES", options.bytes, "of a datagram")
      ->capture_default_str()
      ->check(CLI::Range(size_t{1}, kMostBytes));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) std::exit(app.exit(error));
    std::fprintf(stderr, "urxe_udp_pingpong: %s; --help lists the options\n", error.what());
    std::exit(2);
  }
  return options;
}

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
  const Options options = parse(argc, argv);
  const size_t rounds = options.rounds;
  const int flags = options.asleep ? 0 : MSG_DONTWAIT;
  const int ours = make_socket();
  const int theirs = make_socket();
  connect_to(ours, theirs);
  connect_to(theirs, ours);

  std::thread echo([&] {
    std::vector<char> buffer(options.bytes);
    for (size_t i = 0; i < rounds; ++i) {
      receive(theirs, buffer, flags);
      send_all(theirs, buffer);
    }
  });
  using Clock = std::chrono::steady_clock;
  std::vector<double> half_trips;
  half_trips.reserve(rounds);
  std::vector<char> buffer(options.bytes);
  for (size_t i = 0; i < rounds; ++i) {
    const auto start = Clock::now();
    send_all(ours, buffer);
    receive(ours, buffer, flags);
    half_trips.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count() /
                         2);
  }
  echo.join();
  std::nth_element(half_trips.begin(), half_trips.begin() + static_cast<ptrdiff_t>(rounds / 2),
                   half_trips.end());
  std::printf("%.3f\n", half_trips[rounds / 2]);
  ::close(ours);
  ::close(theirs);
  return 0;
}
