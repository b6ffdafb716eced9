// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/shm/links.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "packet/host/uncancelled.h"
#include "packet/host/unix_name.h"

namespace urxe {
namespace {

constexpr int kBacklog = 64;
constexpr int kCallersAtOnce = 16;
constexpr size_t kMostCallers = 16;
constexpr Duration kFirstPause = milliseconds(50);
constexpr Duration kLongestPause = seconds(10);

}  // namespace

Links::Links(const Config& config, const std::vector<Gid>& addresses, ShmCounters& counters)
    : config_(config), addresses_(addresses), counters_(counters) {
  links_.reserve(kMostLinks);
  callers_.reserve(kMostCallers);
  auto listener = open_listening_socket(config.directory->links_name(config.slot), kBacklog);
  if (!listener) return;  // then only this process asks for links
  if (watch(listener->get())) listener_ = *std::move(listener);
}

Links::~Links() = default;

/// False and errno, if fs.epoll.max_user_watches allows no more for instance.
bool Links::watch(int fd) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  return epoll_ctl(config_.epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

/// Closing is not enough while a forked child has a copy of the descriptor.
void Links::unwatch(int fd) const {
  epoll_ctl(config_.epoll, EPOLL_CTL_DEL, fd, nullptr);
}

/// Null and errno: nothing would tell of the peer's end, so there is no link.
Link* Links::add(std::unique_ptr<Link> link) {
  if (!watch(link->connection())) return nullptr;
  links_.push_back(std::move(link));
  Link* const added = links_.back().get();
  by_slot_[added->slot()] = added;
  return added;
}

void Links::ask(uint32_t slot, Instant now) {
  Attempt& attempt = attempts_[slot];
  if (by_slot_[slot] != nullptr || now < attempt.again || links_.size() >= kMostLinks) return;
  attempt.pause = std::clamp(attempt.pause * 2, kFirstPause, kLongestPause);
  attempt.again = now + attempt.pause;
  (void)try_to_ask(slot);
}

Expected<void, Errno> Links::try_to_ask(uint32_t slot) try {
  const Uncancelled uncancelled;
  auto connection = connect_to_socket(config_.directory->links_name(slot));
  if (!connection) return Unexpected<Errno>(connection.error());
  if (!config_.directory->is_member(connection->get())) return error(EACCES);
  FileDescriptor shared;
  auto memory = LinkMemory::create(shared);
  if (!memory) return Unexpected<Errno>(memory.error());
  auto link = std::make_unique<Link>(slot, *std::move(connection), *std::move(memory), 0,
                                     addresses_, config_.patience, counters_);
  const std::array<int, 2> descriptors{shared.get(), config_.bell};
  auto sent = say_hello(link->connection(), own_hello(), descriptors);
  if (sent && add(std::move(link)) == nullptr) return error(errno);
  return sent;
} catch (const std::bad_alloc&) {
  return error(ENOMEM);
}

void Links::look_at(int fd, Instant now) {
  const Uncancelled uncancelled;
  if (fd == listener_.get()) return accept_callers(now);
  for (FileDescriptor& caller : callers_) {
    if (caller.get() != fd) continue;
    if (!hear(caller, now)) return;
    std::erase_if(callers_, [](const FileDescriptor& c) { return !c; });
    return;
  }
  for (const auto& link : links_) {
    if (link->connection() == fd) return read_connection(*link, now);
  }
}

void Links::accept_callers(Instant now) {
  for (int i = 0; i < kCallersAtOnce; ++i) {
    FileDescriptor caller(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!caller) return give_up_listening_if(errno);
    if (!config_.directory->is_member(caller.get())) continue;
    if (!watch(caller.get())) continue;
    if (hear(caller, now)) continue;
    if (callers_.size() == kMostCallers) {
      unwatch(callers_.front().get());
      callers_.erase(callers_.begin());
    }
    callers_.push_back(std::move(caller));
  }
}

/// Without a descriptor for a caller, the listener would stay readable. From now on only this
/// process asks for links.
void Links::give_up_listening_if(int errno_value) {
  if (errno_value != EMFILE && errno_value != ENFILE && errno_value != ENOMEM) return;
  unwatch(listener_.get());
  listener_.reset();
}

/// Takes what a caller says. False: it has said nothing yet; true: `caller` is closed or taken.
bool Links::hear(FileDescriptor& caller, Instant now) {
  auto heard = hear_hello(caller.get());
  if (!heard && heard.error().value == EAGAIN) return false;
  unwatch(caller.get());
  FileDescriptor connection = std::exchange(caller, FileDescriptor());
  if (heard) accept(std::move(connection), *heard, now);
  return true;
}

/// Refuses by closing the connection.
void Links::accept(FileDescriptor caller, HeardHello& heard, Instant now) try {
  const uint32_t slot = heard.hello.slot;
  auto& [shared, bell] = heard.message.descriptors;
  if (slot == config_.slot || !shared || !bell || !is_bell(bell.get())) return;
  if (Link* const other = by_slot_[slot]) {
    // Both asked, or its process has ended and the slot has a new owner.
    if (other->state() == Link::State::kUp) read_connection(*other, now);
    if (other->state() == Link::State::kUp) return;
    if (other->state() == Link::State::kAsked && config_.slot < slot) return;
    end(*other);
  }
  if (links_.size() >= kMostLinks) return;
  auto memory = LinkMemory::map(shared.get());
  if (!memory) return;
  auto link = std::make_unique<Link>(slot, std::move(caller), *std::move(memory), 1, addresses_,
                                     config_.patience, counters_);
  const std::array<int, 1> descriptors{config_.bell};
  if (!say_hello(link->connection(), own_hello(), descriptors)) return;
  Link* const added = add(std::move(link));
  if (added != nullptr) added->come_up(std::move(bell), heard.hello.interface_index, now);
} catch (const std::bad_alloc&) {
  // refused
}

void Links::read_connection(Link& link, Instant now) {
  auto heard = hear_hello(link.connection());
  if (!heard && heard.error().value == EAGAIN) return;
  FileDescriptor* const bell = heard ? &heard->message.descriptors[0] : nullptr;
  const bool expected = heard && link.state() == Link::State::kAsked &&
                        heard->hello.slot == link.slot() && *bell && is_bell(bell->get());
  if (!expected) return end(link);
  link.come_up(std::move(*bell), heard->hello.interface_index, now);
  attempts_[link.slot()] = {};
}

void Links::end(Link& link) {
  if (link.connection() < 0) return;
  unwatch(link.connection());
  by_slot_[link.slot()] = nullptr;
  link.end();
}

void Links::break_off(Link& link) {
  ++counters_.broken_links;
  end(link);
  link.give_up();
}

void Links::free_read() {
  for (const auto& link : links_) {
    link->free();
    if (link->state() == Link::State::kEnding && !link->has_next()) link->give_up();
  }
  std::erase_if(links_, [](const auto& link) { return link->state() == Link::State::kEnded; });
}

void Links::begin_anew() {
  for (const auto& link : links_) end(*link);
}

void Links::close() {
  for (const FileDescriptor& caller : callers_) unwatch(caller.get());
  callers_.clear();
  begin_anew();
  links_.clear();
  if (listener_) unwatch(listener_.get());
  listener_.reset();
}

void Links::abandon() {
  callers_.clear();
  links_.clear();
  by_slot_.fill(nullptr);
  listener_.reset();
}

}  // namespace urxe
