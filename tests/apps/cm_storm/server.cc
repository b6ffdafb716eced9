// SPDX-License-Identifier: BSD-2-Clause
// Accepts whoever comes, until SIGTERM. SIGUSR1: says how things stand.
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "tests/apps/cm_storm/storm.h"

namespace storm {
namespace {

class Server {
 public:
  explicit Server(const Options& options)
      : options_(options),
        signals_(signal_descriptor()),
        channel_(need_object(rdma_create_event_channel(), "rdma_create_event_channel")) {
    set_nonblocking(channel_->fd);
  }

  void listen() {
    for (const std::string& node : options_.nodes) {
      rdma_addrinfo hints{};
      hints.ai_flags = RAI_PASSIVE;
      hints.ai_port_space = RDMA_PS_TCP;
      rdma_addrinfo* info = nullptr;
      need(rdma_getaddrinfo(node.c_str(), options_.service.c_str(), &hints, &info),
           "rdma_getaddrinfo");
      rdma_cm_id* id = nullptr;
      need(rdma_create_id(channel_, &id, nullptr, RDMA_PS_TCP), "rdma_create_id");
      need(rdma_bind_addr(id, info->ai_src_addr), "rdma_bind_addr");
      need(rdma_listen(id, options_.backlog), "rdma_listen");
      rdma_freeaddrinfo(info);
      listeners_.push_back(id);
      // What is shared is made now, so that only connections come and go.
      if (id->verbs != nullptr) resources_.of(id->verbs);
    }
    std::puts("ready");
    std::fflush(stdout);
  }

  int serve() {
    for (;;) {
      pollfd sources[2] = {{channel_->fd, POLLIN, 0}, {signals_, POLLIN, 0}};
      poll(sources, 2, -1);
      take_events();
      resources_.poll();
      const int signal = take_signal(signals_);
      if (signal == SIGUSR1) report();
      if (signal == SIGTERM) break;
    }
    for (rdma_cm_id* listener : listeners_) need(rdma_destroy_id(listener), "rdma_destroy_id");
    report();
    return 0;
  }

 private:
  void take_events() {
    rdma_cm_event* event = nullptr;
    while (rdma_get_cm_event(channel_, &event) == 0) {
      rdma_cm_id* id = event->id;
      const rdma_cm_event_type type = event->event;
      need(rdma_ack_cm_event(event), "rdma_ack_cm_event");
      handle(id, type);
      resources_.poll();
    }
  }

  void handle(rdma_cm_id* id, rdma_cm_event_type type) {
    switch (type) {
      case RDMA_CM_EVENT_CONNECT_REQUEST:
        return take_request(id);
      case RDMA_CM_EVENT_ESTABLISHED:
        ++established_;
        return;
      case RDMA_CM_EVENT_DISCONNECTED:
        ++disconnected_;
        return end(id);
      case RDMA_CM_EVENT_CONNECT_ERROR:
      case RDMA_CM_EVENT_UNREACHABLE:
      case RDMA_CM_EVENT_REJECTED:
        ++failed_;
        return end(id);
      case RDMA_CM_EVENT_TIMEWAIT_EXIT:
        return;
      default:
        fail(std::string("server: unexpected ") + rdma_event_str(type));
    }
  }

  void take_request(rdma_cm_id* id) {
    ++requests_;
    if (options_.reject_every != 0 && requests_ % options_.reject_every == 0) {
      need(rdma_reject(id, "no", 2), "rdma_reject");
      ++rejected_;
      need(rdma_destroy_id(id), "rdma_destroy_id");
      return;
    }
    resources_.create_qp(id);
    ++open_;
    // A peer that has gone meanwhile: no event comes any more.
    if (rdma_accept(id, nullptr) != 0) end(id);
  }

  void end(rdma_cm_id* id) {
    rdma_destroy_qp(id);
    need(rdma_destroy_id(id), "rdma_destroy_id");
    --open_;
  }

  void report() const {
    std::printf(
        "server {\"requests\": %ld, \"rejected\": %ld, \"established\": %ld, \"disconnected\": "
        "%ld, "
        "\"failed\": %ld, \"open\": %ld, \"footprint\": %s}\n",
        requests_, rejected_, established_, disconnected_, failed_, open_,
        to_json(footprint()).c_str());
    std::fflush(stdout);
  }

  const Options& options_;
  const int signals_;  ///< from before anybody is told that the server is there
  rdma_event_channel* channel_;
  std::vector<rdma_cm_id*> listeners_;
  Resources resources_;
  long requests_ = 0;
  long rejected_ = 0;
  long established_ = 0;
  long disconnected_ = 0;
  long failed_ = 0;
  long open_ = 0;
};

}  // namespace

int run_server(const Options& options) {
  Server server(options);
  server.listen();
  return server.serve();
}

}  // namespace storm
