// SPDX-License-Identifier: BSD-2-Clause
// The yardstick for the engine dpdk over a memif: two processes that call nothing but DPDK. They
// spin and answer each other with two frames in one burst, a WRITE of 8 bytes and an ACK; prints
// the median of half the round trip, in microseconds. With --stream one sends WRITEs with whole
// packets, which the other copies to where they belong; prints GB/s.
#include <rte_config.h>
// Before the others, which need it.
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr uint16_t kHeaders = 14 + 20 + 8;               // Ethernet, IPv4, UDP
constexpr uint16_t kWrite = kHeaders + 12 + 16 + 8 + 4;  // BTH, RETH, payload, ICRC
constexpr uint16_t kAck = kHeaders + 12 + 4 + 4;         // BTH, AETH, ICRC
constexpr uint16_t kPayload = 4096;
constexpr uint16_t kPacket = kHeaders + 12 + kPayload + 4;  // BTH, payload, ICRC
constexpr size_t kMessage = size_t{1} << 20;
constexpr uint16_t kBurst = 32;
constexpr uint16_t kDescriptors = 1024;
constexpr unsigned kBuffers = 8191;
constexpr uint16_t kRoom = 8192 + RTE_PKTMBUF_HEADROOM;  // of a buffer, as the engine's
constexpr size_t kMostRounds = 10'000'000;
constexpr size_t kWarmUp = 1000;
constexpr int kPatience = 20000;  // ms

struct Options {
  bool stream = false;
  size_t rounds = 100000;
};

Options parse(int argc, char** argv) {
  Options options;
  CLI::App app{
      "Two processes that answer each other over a memif, by DPDK alone. Prints the median of half "
      "the\nround trip, in microseconds.",
      "urxe_memif_pingpong"};
  app.add_flag("--stream", options.stream, "one sends whole packets; prints GB/s");
  app.add_option("ROUNDS", options.rounds, "with --stream, messages of 1 MiB")
      ->capture_default_str()
      ->check(CLI::Range(size_t{1}, kMostRounds));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) std::exit(app.exit(error));
    std::fprintf(stderr, "urxe_memif_pingpong: %s; --help lists the options\n", error.what());
    std::exit(2);
  }
  return options;
}

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "urxe_memif_pingpong: %s: %s\n", what, rte_strerror(rte_errno));
  std::exit(1);
}

// One end of the memif. A process has one at most.
class End {
 public:
  End(bool is_server, const std::string& socket) {
    start(is_server, socket);
    pool_ = rte_pktmbuf_pool_create("buffers", kBuffers, 256, 0, kRoom, SOCKET_ID_ANY);
    const rte_eth_conf none{};
    if (pool_ == nullptr || rte_eth_dev_configure(0, 1, 1, &none) != 0 ||
        rte_eth_rx_queue_setup(0, 0, kDescriptors, SOCKET_ID_ANY, nullptr, pool_) != 0 ||
        rte_eth_tx_queue_setup(0, 0, kDescriptors, SOCKET_ID_ANY, nullptr) != 0 ||
        rte_eth_dev_start(0) != 0) {
      fail("port");
    }
  }

  void wait_for_other() const {
    for (int ms = 0; !is_up(); ++ms) {
      if (ms == kPatience) fail("no connection");
      usleep(1000);
    }
  }

  // Sends frames of these sizes in one burst. `payload` goes behind the headers of each.
  void send(const uint16_t* sizes, uint16_t count, const char* payload) {
    std::array<rte_mbuf*, kBurst> frames{};
    if (rte_pktmbuf_alloc_bulk(pool_, frames.data(), count) != 0) fail("buffers");
    for (uint16_t i = 0; i < count; ++i) {
      char* const at = rte_pktmbuf_append(frames[i], sizes[i]);
      std::memset(at, 0, kHeaders);
      std::memcpy(at + kHeaders, payload, sizes[i] - size_t{kHeaders});
      payload += sizes[i] - kHeaders;
    }
    for (uint16_t sent = 0; sent < count;) {
      sent += rte_eth_tx_burst(0, 0, frames.data() + sent, count - sent);
    }
  }
  // Spins until frames come, and copies what is behind their headers. Returns how many.
  uint16_t receive(char* to) {
    std::array<rte_mbuf*, kBurst> frames{};
    uint16_t count = 0;
    while (count == 0) count = rte_eth_rx_burst(0, 0, frames.data(), kBurst);
    for (uint16_t i = 0; i < count; ++i) {
      const size_t bytes = frames[i]->data_len - size_t{kHeaders};
      std::memcpy(to, rte_pktmbuf_mtod(frames[i], char*) + kHeaders, bytes);
      to += bytes;
    }
    rte_pktmbuf_free_bulk(frames.data(), count);
    return count;
  }

 private:
  static void start(bool is_server, const std::string& socket) {
    const bool share = sysconf(_SC_NPROCESSORS_ONLN) < 2;
    std::vector<std::string> words{"urxe_memif_pingpong",
                                   "--no-huge",
                                   "-m",
                                   "256",
                                   "--no-pci",
                                   "--no-telemetry",
                                   "--no-shconf",
                                   "--log-level=critical",
                                   "--lcores",
                                   is_server || share ? "0@0" : "0@1",
                                   std::string("--vdev=net_memif0,bsize=8192,role=") +
                                       (is_server ? "server" : "client") +
                                       ",socket-abstract=no,socket=" + socket};
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    if (rte_eal_init(static_cast<int>(pointers.size()), pointers.data()) < 0) fail("EAL");
  }
  static bool is_up() {
    rte_eth_link link{};
    return rte_eth_link_get_nowait(0, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
  }

  rte_mempool* pool_ = nullptr;
};

const uint16_t kRequestAndAck[] = {kWrite, kAck};

// Receives both frames of the other end.
void receive_turn(End& end, char* to) {
  for (uint16_t got = 0; got < 2;) got += end.receive(to);
}

double ping(End& end, size_t rounds) {
  using Clock = std::chrono::steady_clock;
  std::vector<char> buffer(size_t{kBurst} * kPacket);
  std::vector<double> times;
  for (size_t i = 0; i < rounds + kWarmUp; ++i) {
    const auto begin = Clock::now();
    end.send(kRequestAndAck, 2, buffer.data());
    receive_turn(end, buffer.data());
    const std::chrono::duration<double, std::micro> taken = Clock::now() - begin;
    if (i >= kWarmUp) times.push_back(taken.count() / 2);
  }
  std::nth_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(rounds / 2), times.end());
  return times[rounds / 2];
}

[[noreturn]] void answer(End& end) {
  std::vector<char> buffer(size_t{kBurst} * kPacket);
  for (;;) {
    receive_turn(end, buffer.data());
    end.send(kRequestAndAck, 2, buffer.data());
  }
}

// The other end acknowledges each message with one frame.
double stream(End& end, size_t messages) {
  using Clock = std::chrono::steady_clock;
  std::vector<char> memory(kMessage + kPacket);
  std::vector<char> acks(size_t{kBurst} * kPacket);
  std::array<uint16_t, kBurst> sizes;
  sizes.fill(kPacket);
  constexpr size_t kInFlight = 2;
  size_t acknowledged = 0;
  const auto begin = Clock::now();
  for (size_t sent = 0; sent < messages; ++sent) {
    while (sent - acknowledged >= kInFlight) acknowledged += end.receive(acks.data());
    for (size_t at = 0; at < kMessage; at += size_t{kBurst} * kPayload) {
      end.send(sizes.data(), kBurst, memory.data());
    }
  }
  while (acknowledged < messages) acknowledged += end.receive(acks.data());
  const std::chrono::duration<double, std::nano> taken = Clock::now() - begin;
  return static_cast<double>(messages * kMessage) / taken.count();
}

[[noreturn]] void take_stream(End& end) {
  std::vector<char> memory(kMessage + size_t{kBurst} * kPacket);
  constexpr size_t kPackets = kMessage / kPayload;
  for (size_t got = 0;;) {
    got += end.receive(memory.data() + got % kPackets * kPayload);
    for (; got >= kPackets; got -= kPackets) end.send(&kAck, 1, memory.data());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  // Nobody else can have a name in it.
  char folder[] = "/tmp/urxe_memif_pingpong-XXXXXX";
  if (mkdtemp(folder) == nullptr) fail("folder");
  const std::string socket = std::string(folder) + "/socket";
  int server_listens[2];
  const pid_t child = pipe(server_listens) == 0 ? fork() : -1;
  if (child < 0) fail("process");
  char byte = 0;
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(server_listens[0], &byte, 1) != 1) std::_Exit(1);
    End end(false, socket);
    end.wait_for_other();
    if (options.stream) take_stream(end);
    answer(end);
  }
  End end(true, socket);
  if (write(server_listens[1], &byte, 1) != 1) fail("pipe");
  end.wait_for_other();
  std::printf("%.3f\n", options.stream ? stream(end, options.rounds) : ping(end, options.rounds));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  unlink(socket.c_str());
  rmdir(folder);
  std::fflush(stdout);
  std::_Exit(0);  // EAL's threads go on
}
