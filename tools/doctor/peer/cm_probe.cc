// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/peer/cm_probe.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "packet/host/clock.h"
#include "tools/doctor/child.h"
#include "tools/doctor/peer/cm_library.h"
#include "tools/doctor/peer/path_probe.h"

namespace urxe::doctor {
namespace {

constexpr int kProbes = 5;
/// A port of RDMA_PS_TCP that nobody listens at.
constexpr uint16_t kNobodysPort = 1;
constexpr int kResolveMs = 2000;
/// More than the first repetition of a request, which comes after four seconds.
constexpr int kPatienceMs = 6000;

void tell_failure(const std::string& what) {
  tell_parent(fmt::format("{} {}", kFailureWord, what));
}

/// A request for a connection. Its objects end with it.
class Probe {
 public:
  explicit Probe(const CmLibrary& cm) : cm_(cm), channel_(cm.create_event_channel()) {}
  ~Probe() {
    if (id_ != nullptr) cm_.destroy_id(id_);
    if (channel_ != nullptr) cm_.destroy_event_channel(channel_);
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  /// Tells what came of it. False: no further one makes sense.
  bool run(PeerAddress peer) {
    if (!prepare(peer)) return false;
    rdma_conn_param parameters{};
    parameters.qp_num = 2;  // of no queue pair: the peer refuses before it matters
    parameters.responder_resources = 1;
    parameters.initiator_depth = 1;
    const Instant start = clock_now();
    if (cm_.connect(id_, &parameters) != 0) return fail("rdma_connect");
    const auto event = wait();
    const Duration took = clock_now() - start;
    if (!event || *event == RDMA_CM_EVENT_UNREACHABLE) {
      tell_parent(kSilenceWord);
      return false;
    }
    tell_parent(fmt::format("{} {}", kAnswerWord, took.ns));
    return true;
  }

 private:
  bool fail(const char* call) {
    tell_failure(fmt::format("{}: {}", call, std::strerror(errno)));
    return false;
  }

  bool prepare(PeerAddress& peer) {
    if (channel_ == nullptr || cm_.create_id(channel_, &id_, nullptr, RDMA_PS_TCP) != 0) {
      return fail("rdma_create_id");
    }
    auto* const to = reinterpret_cast<sockaddr*>(&peer.address);
    // The port has the same place in both.
    reinterpret_cast<sockaddr_in*>(&peer.address)->sin_port = htons(kNobodysPort);
    if (cm_.resolve_addr(id_, nullptr, to, kResolveMs) != 0) return fail("rdma_resolve_addr");
    if (wait() != RDMA_CM_EVENT_ADDR_RESOLVED) {
      tell_failure("no device leads to the address, or its neighbour does not answer");
      return false;
    }
    if (cm_.resolve_route(id_, kResolveMs) != 0) return fail("rdma_resolve_route");
    if (wait() != RDMA_CM_EVENT_ROUTE_RESOLVED) {
      tell_failure("there is no route to the address");
      return false;
    }
    return true;
  }

  /// The next event; none: it does not come in time.
  std::optional<rdma_cm_event_type> wait() {
    pollfd waiting{channel_->fd, POLLIN, 0};
    if (poll(&waiting, 1, kPatienceMs) <= 0) return std::nullopt;
    rdma_cm_event* event = nullptr;
    if (cm_.get_cm_event(channel_, &event) != 0) return std::nullopt;
    const rdma_cm_event_type type = event->event;
    cm_.ack_cm_event(event);
    return type;
  }

  const CmLibrary& cm_;
  rdma_event_channel* channel_;
  rdma_cm_id* id_ = nullptr;
};

}  // namespace

int probe_peer(const std::string& address) {
  const auto cm = load_cm_library();
  const auto peer = resolve_peer(address);
  if (!cm || !peer) {
    tell_failure(cm ? peer.error() : cm.error());
    return 0;
  }
  for (int i = 0; i < kProbes; ++i) {
    if (!Probe(*cm).run(*peer)) break;
  }
  return 0;
}

}  // namespace urxe::doctor
