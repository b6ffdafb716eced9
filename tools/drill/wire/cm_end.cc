// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/wire/cm_end.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "packet/host/clock.h"
#include "packet/host/socket_address.h"
#include "tools/drill/cm/message_fields.h"
#include "tools/drill/cm/words.h"
#include "transport/cm/connection_manager.h"

namespace urxe::drill {
namespace {

constexpr uint64_t kTcpServices = RDMA_PS_TCP << 16;  ///< and the port
constexpr int kBacklog = 8;
constexpr int kResolveMs = 2000;
constexpr Duration kWaitLimit = seconds(4);
constexpr size_t kMostEvents = 1024;

Outcome refused_call(std::string_view call) {
  return {Outcome::Kind::kRefused, fmt::format("{}: {}", call, std::strerror(errno))};
}

/// Of a call that returns 0, or -1 with errno.
Outcome done_or_failed(std::string_view call, int result) {
  return result == 0 ? Outcome{} : refused_call(call);
}

Outcome not_by_librdmacm(std::string_view what) {
  return {Outcome::Kind::kImpossible, fmt::format("{}, which librdmacm does not offer", what)};
}

/// The port of a service; nullopt: librdmacm cannot name it.
std::optional<uint16_t> port_of_service(const Statement& statement) {
  const uint64_t service = statement.number("service", kScriptService.value());
  if ((service & ~uint64_t{0xffff}) != kTcpServices) return std::nullopt;
  return static_cast<uint16_t>(service & 0xffff);
}

rdma_conn_param parameters_of(const Statement& statement) {
  rdma_conn_param parameters{};
  parameters.responder_resources = parameters.initiator_depth = 1;
  parameters.retry_count = parameters.rnr_retry_count = 7;
  parameters.qp_num = static_cast<uint32_t>(statement.number("qpn", kScriptQpn));
  return parameters;
}

std::optional<CmEvent::Kind> kind_of_event(const rdma_cm_event& event) {
  switch (event.event) {
    case RDMA_CM_EVENT_CONNECT_REQUEST:
      return CmEvent::Kind::kRequest;
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
      return CmEvent::Kind::kReply;
    case RDMA_CM_EVENT_ESTABLISHED:
      return CmEvent::Kind::kEstablished;
    case RDMA_CM_EVENT_REJECTED:
      return CmEvent::Kind::kRejected;
    case RDMA_CM_EVENT_UNREACHABLE:
      return CmEvent::Kind::kRequestTimeout;
    case RDMA_CM_EVENT_DISCONNECTED:
      return CmEvent::Kind::kDisconnected;
    case RDMA_CM_EVENT_TIMEWAIT_EXIT:
      return CmEvent::Kind::kTimeWaitExit;
    default:
      return std::nullopt;
  }
}

}  // namespace

CmEnd::~CmEnd() {
  if (channel_ == nullptr) return;
  take_events();
  for (rdma_cm_id* id : ids_) cm_->destroy_id(id);
  cm_->destroy_event_channel(channel_);
}

Outcome CmEnd::act(const Statement& statement) {
  if (statement.verb == Verb::kCm && channel_ == nullptr) return begin();
  if (channel_ == nullptr || statement.verb != Verb::kCall) {
    return {Outcome::Kind::kRefused, "the statement is no call of a connection manager"};
  }
  take_events();
  return call(statement);
}

Outcome CmEnd::begin() {
  const auto loaded = load_rdmacm();
  if (!loaded) return {Outcome::Kind::kImpossible, loaded.error()};
  cm_ = *loaded;
  channel_ = cm_->create_event_channel();
  if (channel_ == nullptr) return refused_call("rdma_create_event_channel");
  const int flags = fcntl(channel_->fd, F_GETFL);
  if (flags < 0 || fcntl(channel_->fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return refused_call("fcntl");
  }
  // Also scripts without a call need a device that listens to its peers.
  return bound_id(0) == nullptr ? refused_call("rdma_bind_addr") : Outcome{};
}

rdma_cm_id* CmEnd::bound_id(uint16_t port) {
  if (ids_.size() >= kMaxIds) {
    errno = ENOSPC;
    return nullptr;
  }
  rdma_cm_id* id = nullptr;
  if (cm_->create_id(channel_, &id, nullptr, RDMA_PS_TCP) != 0) return nullptr;
  ids_.push_back(id);
  SocketAddress address(device_.gid, port, 0);
  return cm_->bind_addr(id, address.get()) == 0 ? id : nullptr;
}

Outcome CmEnd::call(const Statement& statement) {
  const auto call = static_cast<Call>(statement.subject_id);
  if (call == Call::kListen) return listen(statement);
  if (call == Call::kConnect) return connect(statement);
  if (call == Call::kDelay) return not_by_librdmacm("an MRA of the consumer's");
  if (current_ == nullptr) return {Outcome::Kind::kRefused, "there is no communication"};
  switch (call) {
    case Call::kAccept:
      return accept(statement);
    case Call::kConfirm:
      return done_or_failed("rdma_establish", cm_->establish(current_));
    case Call::kReject:
      if (statement.number("reason", 28) != 28) return not_by_librdmacm("a reason other than 28");
      return done_or_failed("rdma_reject", cm_->reject(current_, nullptr, 0));
    case Call::kDisconnect:
    case Call::kAnswerDisconnect:
      return done_or_failed("rdma_disconnect", cm_->disconnect(current_));
    default:
      std::erase(ids_, current_);
      return done_or_failed("rdma_destroy_id", cm_->destroy_id(std::exchange(current_, nullptr)));
  }
}

Outcome CmEnd::listen(const Statement& statement) {
  const auto port = port_of_service(statement);
  if (!port) return not_by_librdmacm("a service other than 0x0106PORT");
  rdma_cm_id* const id = bound_id(*port);
  if (id == nullptr) return refused_call("rdma_bind_addr");
  return done_or_failed("rdma_listen", cm_->listen(id, kBacklog));
}

Outcome CmEnd::connect(const Statement& statement) {
  const auto port = port_of_service(statement);
  if (!port) return not_by_librdmacm("a service other than 0x0106PORT");
  for (const char* key : {"retries", "timeout"}) {
    if (statement.find(key) != nullptr) return not_by_librdmacm(fmt::format("{} of a REQ", key));
  }
  rdma_cm_id* const id = bound_id(0);
  if (id == nullptr) return refused_call("rdma_bind_addr");
  current_ = id;
  SocketAddress to(peer_.gid, *port, 0);
  if (cm_->resolve_addr(id, nullptr, to.get(), kResolveMs) != 0 ||
      !wait_for(RDMA_CM_EVENT_ADDR_RESOLVED)) {
    return refused_call("rdma_resolve_addr");
  }
  if (cm_->resolve_route(id, kResolveMs) != 0 || !wait_for(RDMA_CM_EVENT_ROUTE_RESOLVED)) {
    return refused_call("rdma_resolve_route");
  }
  rdma_conn_param parameters = parameters_of(statement);
  return done_or_failed("rdma_connect", cm_->connect(id, &parameters));
}

Outcome CmEnd::accept(const Statement& statement) {
  rdma_conn_param parameters = parameters_of(statement);
  return done_or_failed("rdma_accept", cm_->accept(current_, &parameters));
}

bool CmEnd::wait_for(rdma_cm_event_type type) {
  const Instant end = clock_now() + kWaitLimit;
  resolved_.reset();
  for (take_events(); !resolved_ && clock_now() < end; take_events()) {
    pollfd entry{channel_->fd, POLLIN, 0};
    poll(&entry, 1, 100);
  }
  if (resolved_ == type) return true;
  errno = resolved_ ? EHOSTUNREACH : ETIMEDOUT;
  return false;
}

void CmEnd::take_events() {
  rdma_cm_event* event = nullptr;
  while (cm_->get_cm_event(channel_, &event) == 0) {
    const auto kind = kind_of_event(*event);
    if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
      current_ = event->id;
      ids_.push_back(event->id);
    }
    if (event->event <= RDMA_CM_EVENT_ROUTE_ERROR) resolved_ = event->event;
    cm_->ack_cm_event(event);
    if (kind && events_.size() < kMostEvents) events_.push_back(static_cast<uint64_t>(*kind));
  }
}

std::vector<uint64_t> CmEnd::events(size_t limit) {
  if (channel_ != nullptr) take_events();
  const auto end = events_.begin() + static_cast<ptrdiff_t>(std::min(limit, events_.size()));
  std::vector<uint64_t> taken(events_.begin(), end);
  events_.erase(events_.begin(), end);
  return taken;
}

}  // namespace urxe::drill
