// SPDX-License-Identifier: BSD-2-Clause
// The yardstick for latency: two threads that spin on plain UDP sockets of the loopback interface,
// or sleep in recv(2), and answer each other. Prints the median of half the round trip, in
// microseconds. With --as-engine they make the system calls of the engine udp: what is left of its
// latency without a channel adapter.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr size_t kMostBytes = 1472;
constexpr size_t kMostRounds = 10'000'000;

struct Options {
  bool asleep = false;
  bool as_engine = false;
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
  CLI::Option* const as_engine =
      app.add_flag(
             "--as-engine", options.as_engine,
             "make the system calls of the engine udp: a WRITE of 8 bytes and an ACK as segments "
             "of one datagram")
          ->excludes("--asleep");
  app.add_option("ROUNDS", options.rounds)
      ->capture_default_str()
      ->check(CLI::Range(size_t{1}, kMostRounds));
  app.add_option("BYTES", options.bytes, "of a datagram")
      ->excludes(as_engine)
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

sockaddr_in address_of(int fd) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) fail("getsockname");
  return address;
}

void connect_to(int fd, int peer) {
  const sockaddr_in address = address_of(peer);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
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

void switch_on(int fd, int level, int option) {
  const int on = 1;
  if (::setsockopt(fd, level, option, &on, sizeof on) != 0) fail("setsockopt");
}

// One end that sends and receives as the engine udp does.
class EngineEnd {
 public:
  EngineEnd() {
    switch_on(receive_fd_, IPPROTO_IP, IP_RECVTOS);
    switch_on(receive_fd_, IPPROTO_IP, IP_RECVTTL);
    switch_on(receive_fd_, IPPROTO_UDP, UDP_GRO);
  }
  ~EngineEnd() {
    ::close(send_fd_);
    ::close(receive_fd_);
  }
  EngineEnd(const EngineEnd&) = delete;
  EngineEnd& operator=(const EngineEnd&) = delete;

  [[nodiscard]] sockaddr_in address() const { return address_of(receive_fd_); }

  void send_to(sockaddr_in peer) {
    iovec bytes{buffer_.data(), kWrite + kAck};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(uint16_t))]{};
    msghdr message = message_of(bytes, peer, control, sizeof control);
    cmsghdr* segmentation = CMSG_FIRSTHDR(&message);
    segmentation->cmsg_level = IPPROTO_UDP;
    segmentation->cmsg_type = UDP_SEGMENT;
    segmentation->cmsg_len = CMSG_LEN(sizeof(uint16_t));
    std::memcpy(CMSG_DATA(segmentation), &kWrite, sizeof kWrite);
    if (::sendmsg(send_fd_, &message, 0) < 0) fail("sendmsg");
  }
  void receive() {
    ssize_t got = -1;
    while (got < 0) {
      sockaddr_in peer{};
      iovec bytes{buffer_.data(), buffer_.size()};
      alignas(cmsghdr) char control[256];
      msghdr message = message_of(bytes, peer, control, sizeof control);
      got = ::recvmsg(receive_fd_, &message, MSG_DONTWAIT);
    }
  }

 private:
  static constexpr uint16_t kWrite = 12 + 16 + 8 + 4;  // BTH, RETH, payload, ICRC
  static constexpr uint16_t kAck = 12 + 4 + 4;         // BTH, AETH, ICRC

  static msghdr message_of(iovec& bytes, sockaddr_in& peer, char* control, size_t size) {
    msghdr message{};
    message.msg_name = &peer;
    message.msg_namelen = sizeof peer;
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = size;
    return message;
  }

  int receive_fd_ = make_socket();
  int send_fd_ = make_socket();
  std::vector<char> buffer_ = std::vector<char>(65536);
};

using Clock = std::chrono::steady_clock;

// `answer` is what the other thread does, `trip` a round trip of this one. The median of half of
// it.
template <class Answer, class Trip>
double measure(size_t rounds, Answer answer, Trip trip) {
  std::thread echo([&] {
    for (size_t i = 0; i < rounds; ++i) answer();
  });
  std::vector<double> half_trips;
  half_trips.reserve(rounds);
  for (size_t i = 0; i < rounds; ++i) {
    const auto start = Clock::now();
    trip();
    half_trips.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count() /
                         2);
  }
  echo.join();
  const auto middle = half_trips.begin() + static_cast<ptrdiff_t>(rounds / 2);
  std::nth_element(half_trips.begin(), middle, half_trips.end());
  return *middle;
}

double measure_as_engine(size_t rounds) {
  EngineEnd ours;
  EngineEnd theirs;
  const sockaddr_in us = ours.address();
  const sockaddr_in them = theirs.address();
  return measure(
      rounds,
      [&] {
        theirs.receive();
        theirs.send_to(us);
      },
      [&] {
        ours.send_to(them);
        ours.receive();
      });
}

double measure_plain(const Options& options) {
  const int flags = options.asleep ? 0 : MSG_DONTWAIT;
  const int ours = make_socket();
  const int theirs = make_socket();
  connect_to(ours, theirs);
  connect_to(theirs, ours);
  std::vector<char> buffer(options.bytes);
  std::vector<char> echoed(options.bytes);
  const double median = measure(
      options.rounds,
      [&] {
        receive(theirs, echoed, flags);
        send_all(theirs, echoed);
      },
      [&] {
        send_all(ours, buffer);
        receive(ours, buffer, flags);
      });
  ::close(ours);
  ::close(theirs);
  return median;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  std::printf("%.3f\n",
              options.as_engine ? measure_as_engine(options.rounds) : measure_plain(options));
  return 0;
}
