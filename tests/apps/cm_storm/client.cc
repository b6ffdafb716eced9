// SPDX-License-Identifier: BSD-2-Clause
// Connects, in rounds of many at once. Each id must end in exactly one way.
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <utility>

#include "tests/apps/cm_storm/storm.h"

namespace storm {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kResolutionMs = 10000;
/// Longer than all retries of a peer that does not answer.
constexpr int kPatienceMs = 120000;

enum class Fate { kNone, kEstablished, kRejected, kUnreachable, kAddressError, kError, kCount };
constexpr const char* kFates[] = {"none",        "established",   "rejected",
                                  "unreachable", "address_error", "error"};

struct Connect {
  rdma_cm_id* id = nullptr;
  Fate fate = Fate::kNone;
  bool is_open = false;  ///< established and not disconnected
  Clock::time_point begun;
};

double ms_since(Clock::time_point begun) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begun).count();
}

class Client {
 public:
  explicit Client(const Options& options)
      : options_(options),
        signals_(signal_descriptor()),
        channel_(need_object(rdma_create_event_channel(), "rdma_create_event_channel")) {
    set_nonblocking(channel_->fd);
    for (const std::string& node : options.nodes) {
      rdma_addrinfo hints{};
      hints.ai_port_space = RDMA_PS_TCP;
      need(
          rdma_getaddrinfo(node.c_str(), options.service.c_str(), &hints, &servers_.emplace_back()),
          "rdma_getaddrinfo");
    }
  }

  int run() {
    const auto begun = Clock::now();
    for (int left = options_.connects; left > 0 && !is_terminated_; left -= options_.at_once) {
      run_round(std::min(left, options_.at_once));
      if (options_.until_killed) left += options_.at_once;
      last_ = footprint();
      if (++rounds_ == 1) first_ = last_;
    }
    report(ms_since(begun) / 1000);
    for (rdma_addrinfo* server : servers_) rdma_freeaddrinfo(server);
    return 0;
  }

 private:
  void run_round(int size) {
    connects_.clear();
    undecided_ = size;
    for (int i = 0; i < size; ++i) start(servers_[static_cast<size_t>(i) % servers_.size()]);
    while (undecided_ > 0) wait();
    if (options_.sends) exchange();
    if (options_.holds) hold();
    for (const auto& connect : connects_) {
      if (connect->is_open) need(rdma_disconnect(connect->id), "rdma_disconnect");
    }
    while (open_ > 0) wait();
    for (const auto& connect : connects_) {
      if (connect->id->qp != nullptr) rdma_destroy_qp(connect->id);
      need(rdma_destroy_id(connect->id), "rdma_destroy_id");
    }
    resources_.poll();
  }

  void start(const rdma_addrinfo* server) {
    Connect& connect = *connects_.emplace_back(std::make_unique<Connect>());
    connect.begun = Clock::now();
    need(rdma_create_id(channel_, &connect.id, &connect, RDMA_PS_TCP), "rdma_create_id");
    if (rdma_resolve_addr(connect.id, nullptr, server->ai_dst_addr, kResolutionMs) != 0) {
      decide(connect, Fate::kAddressError);
    }
  }

  void hold() {
    const int size = open_;
    say("holding");
    while (!is_terminated_) {
      wait();
      if (open_ != size) fail("a connection has ended");
      if (!std::exchange(is_asked_, false)) continue;
      exchange();
      if (lost_ != 0) fail("a message was lost");
      say("exchanged");
    }
  }

  static void say(const char* word) {
    std::puts(word);
    std::fflush(stdout);
  }

  /// A message over each connection; those whose peer has gone do without.
  void exchange() {
    for (const auto& connect : connects_) {
      if (!connect->is_open) continue;
      resources_.post_send(connect->id);
      ++sent_;
    }
    const auto begun = Clock::now();
    while (completed_ + lost_ < sent_) {
      completed_ += resources_.poll();
      take_events();
      if (ms_since(begun) > kPatienceMs) fail("messages do not arrive");
    }
  }

  void wait() {
    pollfd sources[2] = {{channel_->fd, POLLIN, 0}, {signals_, POLLIN, 0}};
    const int ready = poll(sources, 2, options_.holds ? -1 : kPatienceMs);
    if (ready == 0) {
      fail(std::to_string(undecided_) + " connects and " + std::to_string(open_) +
           " disconnects without an event");
    }
    take_events();
    const int signal = take_signal(signals_);
    if (signal == SIGTERM) is_terminated_ = true;
    if (signal == SIGUSR1) is_asked_ = true;
  }

  void take_events() {
    rdma_cm_event* event = nullptr;
    while (rdma_get_cm_event(channel_, &event) == 0) {
      auto& connect = *static_cast<Connect*>(event->id->context);
      const rdma_cm_event_type type = event->event;
      const int status = event->status;
      need(rdma_ack_cm_event(event), "rdma_ack_cm_event");
      handle(connect, type, status);
    }
  }

  void handle(Connect& connect, rdma_cm_event_type type, int status) {
    switch (type) {
      case RDMA_CM_EVENT_ADDR_RESOLVED:
        if (rdma_resolve_route(connect.id, kResolutionMs) != 0) decide(connect, Fate::kError);
        return;
      case RDMA_CM_EVENT_ROUTE_RESOLVED:
        return connect_now(connect);
      case RDMA_CM_EVENT_ESTABLISHED:
        connect.is_open = true;
        ++open_;
        slowest_ms_ = std::max(slowest_ms_, ms_since(connect.begun));
        return decide(connect, Fate::kEstablished);
      case RDMA_CM_EVENT_REJECTED:
        ++reasons_[status];
        return decide(connect, Fate::kRejected);
      case RDMA_CM_EVENT_UNREACHABLE:
        return decide(connect, Fate::kUnreachable);
      case RDMA_CM_EVENT_ADDR_ERROR:
      case RDMA_CM_EVENT_ROUTE_ERROR:
        return decide(connect, Fate::kAddressError);
      case RDMA_CM_EVENT_CONNECT_ERROR:
        return decide(connect, Fate::kError);
      case RDMA_CM_EVENT_DISCONNECTED:
        return close(connect);
      case RDMA_CM_EVENT_TIMEWAIT_EXIT:
        return;
      default:
        fail(std::string("client: unexpected ") + rdma_event_str(type));
    }
  }

  void connect_now(Connect& connect) {
    resources_.create_qp(connect.id);
    rdma_conn_param parameters{};
    parameters.retry_count = 7;
    parameters.rnr_retry_count = 7;
    if (rdma_connect(connect.id, &parameters) != 0) decide(connect, Fate::kError);
  }

  void decide(Connect& connect, Fate fate) {
    if (connect.fate != Fate::kNone) {
      fail(std::string("an id that was ") + kFates[static_cast<int>(connect.fate)] + " is " +
           kFates[static_cast<int>(fate)]);
    }
    connect.fate = fate;
    ++fates_[static_cast<int>(fate)];
    --undecided_;
  }

  void close(Connect& connect) {
    if (!connect.is_open) fail("disconnected, but not connected");
    connect.is_open = false;
    --open_;
    // A message that was under way may have come to nothing; its completion is not counted.
    if (completed_ + lost_ < sent_) ++lost_;
  }

  void report(double seconds) const {
    std::string text = "client {";
    long decided = 0;
    for (int i = 1; i < static_cast<int>(Fate::kCount); ++i) {
      text += std::string("\"") + kFates[i] + "\": " + std::to_string(fates_[i]) + ", ";
      decided += fates_[i];
    }
    text += "\"reasons\": {";
    for (const auto& [reason, count] : reasons_) {
      text += (text.back() == '{' ? "\"" : ", \"") + std::to_string(reason) +
              "\": " + std::to_string(count);
    }
    std::printf(
        "%s}, \"decided\": %ld, \"rounds\": %d, \"lost\": %ld, \"seconds\": %.3f, "
        "\"per_second\": %.0f, \"slowest_ms\": %.1f, \"first\": %s, \"last\": %s}\n",
        text.c_str(), decided, rounds_, lost_, seconds, static_cast<double>(decided) / seconds,
        slowest_ms_, to_json(first_).c_str(), to_json(last_).c_str());
  }

  const Options& options_;
  const int signals_;
  rdma_event_channel* channel_;
  std::vector<rdma_addrinfo*> servers_;
  Resources resources_;
  std::vector<std::unique_ptr<Connect>> connects_;
  int undecided_ = 0;
  int open_ = 0;
  int rounds_ = 0;
  long sent_ = 0;
  long completed_ = 0;
  long lost_ = 0;
  long fates_[static_cast<int>(Fate::kCount)] = {};
  std::map<int, long> reasons_;  ///< of rejections
  double slowest_ms_ = 0;
  bool is_terminated_ = false;
  bool is_asked_ = false;  ///< for messages
  Footprint first_;        ///< after the first round
  Footprint last_;
};

}  // namespace

int run_client(const Options& options) {
  return Client(options).run();
}

}  // namespace storm
