// SPDX-License-Identifier: BSD-2-Clause
// Sends requests for connections at a given rate to the listener on a port of librdmacm's, as a
// hostile host would: nobody takes the answers, and each request is another one. Prints how many
// were sent.
//
// usage: urxe_req_flood PORT REQUESTS_PER_SECOND SECONDS [SOURCES] [TIMES] [TIMEOUT]
//
// To 127.0.0.1 from SOURCES (1) addresses in 127/8, at random; each request TIMES (1) times.
// TIMEOUT (20): how long the requester says that it takes for an answer, 4.096 us * 2^TIMEOUT.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

#include "packet/wire/cm/cm_message.h"
#include "packet/wire/cm/ip_cm_header.h"
#include "packet/wire/tx_batch.h"

namespace {

using namespace urxe;

constexpr uint64_t kTcpPortSpace = 0x0000'0000'0106'0000;
constexpr uint16_t kRocePort = 4791;
constexpr auto kTurn = std::chrono::milliseconds(1);

struct Options {
  uint16_t port = 0;
  double rate = 0;
  double seconds = 0;
  uint32_t sources = 1;
  int times = 1;
  uint8_t timeout = 20;
};

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

/// The address of source `number`: 127.1.0.9 and so on.
std::array<uint8_t, 4> address_of(uint32_t number) {
  return {127, static_cast<uint8_t>(1 + number / 62500), static_cast<uint8_t>(number / 250 % 250),
          static_cast<uint8_t>(2 + number % 250)};
}

CmReq request(const Options& options, uint32_t number, const Gid& source, const Gid& destination) {
  CmReq req;
  req.local_comm_id = CommId(0x4000'0000 + number);
  req.service_id = ServiceId(kTcpPortSpace + options.port);
  req.local_ca_guid = 0x0200'00ff'fe00'0009;
  req.local_qpn = Qpn(0x10'0000 + number % 0xe0'0000);
  req.remote_cm_response_timeout = options.timeout;
  req.local_cm_response_timeout = options.timeout;
  req.max_cm_retries = 15;
  req.retry_count = 7;
  req.rnr_retry_count = 7;
  req.path_mtu = 3;
  req.primary.local = source;
  req.primary.remote = destination;
  req.primary.ack_timeout = options.timeout;
  req.primary.hop_limit = 64;
  req.primary.packet_rate = 3;
  req.responder_resources = 1;
  req.initiator_depth = 1;
  req.private_data.assign(
      emit_ip_cm_header({4, static_cast<uint16_t>(number), source, destination}));
  return req;
}

class Flood {
 public:
  explicit Flood(const Options& options) : options_(options), batch_(TxBatch::Limits{}) {
    const int dont_fragment = IP_PMTUDISC_DO;
    sockaddr_in any{};
    any.sin_family = AF_INET;
    socklen_t size = sizeof any;
    if (fd_ < 0 ||
        setsockopt(fd_, IPPROTO_IP, IP_MTU_DISCOVER, &dont_fragment, sizeof dont_fragment) != 0 ||
        bind(fd_, reinterpret_cast<sockaddr*>(&any), size) != 0 ||
        getsockname(fd_, reinterpret_cast<sockaddr*>(&any), &size) != 0) {
      fail("UDP socket");
    }
    own_port_ = ntohs(any.sin_port);
  }

  /// Keeps to the rate on average; what a turn comes too late for, the next one makes up.
  void run() {
    const auto begin = std::chrono::steady_clock::now();
    for (;;) {
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
      if (passed.count() > options_.seconds) return;
      const auto due = static_cast<uint64_t>(passed.count() * options_.rate);
      while (sent_ < due) send_next();
      std::this_thread::sleep_for(kTurn);
    }
  }
  [[nodiscard]] uint64_t sent() const { return sent_; }

 private:
  void send_next() {
    const auto address = address_of(static_cast<uint32_t>(random_() % options_.sources));
    const Gid source = Gid::from_ipv4(address.data());
    const uint8_t here[4] = {127, 0, 0, 1};
    Flow flow;
    flow.source = source;
    flow.destination = Gid::from_ipv4(here);
    flow.source_port = own_port_;
    const auto mad =
        emit_cm_message({random_(), request(options_, number_++, source, flow.destination)});
    Headers headers;
    headers.bth.opcode = Opcode(Service::kUd, Operation::kSendOnly);
    headers.bth.dest_qp = kGsiQpn;
    headers.deth = {kGsiQKey, kGsiQpn};
    batch_.clear();
    std::ranges::copy(mad, batch_.append(flow, headers, mad.size()));
    batch_.commit();
    for (int i = 0; i < options_.times; ++i) send(batch_.bytes(batch_.messages()[0]), address);
  }

  void send(std::span<const uint8_t> packet, const std::array<uint8_t, 4>& source) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(kRocePort);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    iovec part{const_cast<uint8_t*>(packet.data()), packet.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(in_pktinfo))] = {};
    msghdr message{};
    message.msg_name = &to;
    message.msg_namelen = sizeof to;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = IPPROTO_IP;
    header->cmsg_type = IP_PKTINFO;
    header->cmsg_len = CMSG_LEN(sizeof(in_pktinfo));
    in_pktinfo info{};
    std::memcpy(&info.ipi_spec_dst, source.data(), source.size());
    std::memcpy(CMSG_DATA(header), &info, sizeof info);
    (void)sendmsg(fd_, &message, 0);
    ++sent_;
  }

  const Options& options_;
  TxBatch batch_;
  int fd_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  uint16_t own_port_ = 0;
  uint32_t number_ = 0;
  uint64_t sent_ = 0;
  std::mt19937_64 random_{4711};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: urxe_req_flood PORT RATE SECONDS [SOURCES] [TIMES] [TIMEOUT]\n", stderr);
    return 2;
  }
  Options options;
  options.port = static_cast<uint16_t>(std::atoi(argv[1]));
  options.rate = std::atof(argv[2]);
  options.seconds = std::atof(argv[3]);
  if (argc > 4) options.sources = static_cast<uint32_t>(std::max(1, std::atoi(argv[4])));
  if (argc > 5) options.times = std::atoi(argv[5]);
  if (argc > 6) options.timeout = static_cast<uint8_t>(std::atoi(argv[6]) & 0x1f);
  Flood flood(options);
  flood.run();
  std::printf("%llu\n", static_cast<unsigned long long>(flood.sent()));
  return 0;
}
