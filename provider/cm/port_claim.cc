// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/port_claim.h"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <new>
#include <set>
#include <utility>

#include "provider/cm/ephemeral_ports.h"
#include "provider/cm/port_names.h"

namespace urxe::cm {

struct PortClaim::Impl {
  PortSpace space = PortSpace::kTcp;
  PortHolder holder;
  FileDescriptor name;  ///< none: an ephemeral port, or the parent's of a forked child
  bool is_ephemeral = false;
  bool is_claimed = false;
};

namespace {

/// What the process holds. A forked child gets copies of the descriptors, but not the ports: it
/// closes them. So no thread may be half way through a claim while another forks.
class Ports {
 public:
  // Never destroyed: exit handlers may still give ports back.
  static Ports& instance() {
    static auto* const ports = new Ports;
    return *ports;
  }

  std::mutex mutex;
  UsedPorts ephemeral;
  std::set<FileDescriptor*> names;  ///< of all claims
  std::multiset<std::pair<PortSpace, uint16_t>> claimed;

 private:
  Ports() { pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child); }
  static void before_fork() { instance().mutex.lock(); }
  static void after_fork_in_parent() { instance().mutex.unlock(); }
  static void after_fork_in_child() {
    Ports& self = instance();
    for (FileDescriptor* name : self.names) name->reset();
    self.names.clear();
    self.claimed.clear();
    self.mutex.unlock();
  }
};

bool is_free(const std::vector<PortHolder>& holders, const PortHolder& wanted) {
  return std::none_of(holders.begin(), holders.end(), [&](const PortHolder& other) {
    return other.port == wanted.port && conflict(other, wanted);
  });
}

/// Binds the name before it looks, under the lock: whoever comes next sees it.
Expected<FileDescriptor, Errno> take(PortSpace space, const PortHolder& wanted) {
  const auto lock = lock_port(space, wanted.port);
  if (!lock) return error(lock.error().value);
  if (!is_free(list_holders(space), wanted)) return error(EADDRINUSE);
  return bind_name(space, wanted);
}

/// Sets wanted.port to one that is free. Most are: who holds the others is asked only when several
/// were not.
Expected<FileDescriptor, Errno> take_any(PortSpace space, PortHolder& wanted,
                                         const UsedPorts& ephemeral) {
  constexpr int kBlindAttempts = 3;
  std::vector<PortHolder> holders;
  int attempts = 0;
  PortSearch search(ephemeral_range());
  while (const auto port = search.next()) {
    wanted.port = *port;
    if (ephemeral.has(space, *port) || !is_free(holders, wanted)) continue;
    auto name = take(space, wanted);
    if (name || name.error().value != EADDRINUSE) return name;
    if (++attempts == kBlindAttempts) holders = list_holders(space);
  }
  return error(EADDRINUSE);
}

}  // namespace

// The object is made before the lock is taken: where something fails its destructor takes the lock.
Expected<std::shared_ptr<PortClaim>, Errno> PortClaim::claim(const Request& request) try {
  auto claim = std::shared_ptr<PortClaim>(new PortClaim(std::make_unique<Impl>()));
  Impl& impl = *claim->impl_;
  impl.space = request.space;
  impl.holder = {request.address.port(), address_in_name(request.address, request.af_only),
                 request.reuse_address};
  Ports& ports = Ports::instance();
  std::lock_guard lock(ports.mutex);
  ports.names.insert(&impl.name);
  auto name = impl.holder.port != 0 ? take(impl.space, impl.holder)
                                    : take_any(impl.space, impl.holder, ports.ephemeral);
  if (!name) return error(name.error().value);
  ports.claimed.emplace(impl.space, impl.holder.port);
  impl.is_claimed = true;
  impl.name = *std::move(name);
  return claim;
} catch (const std::bad_alloc&) {
  return error(ENOMEM);
}

Expected<std::shared_ptr<PortClaim>, Errno> PortClaim::take_ephemeral(PortSpace space) try {
  auto claim = std::shared_ptr<PortClaim>(new PortClaim(std::make_unique<Impl>()));
  Impl& impl = *claim->impl_;
  impl.space = space;
  Ports& ports = Ports::instance();
  std::lock_guard lock(ports.mutex);
  PortSearch search(ephemeral_range());
  while (const auto port = search.next()) {
    if (ports.ephemeral.has(space, *port) || ports.claimed.contains({space, *port})) continue;
    if (is_held_on_all_addresses(space, *port)) continue;
    impl.holder.port = *port;
    impl.is_ephemeral = true;
    ports.ephemeral.add(space, *port);
    return claim;
  }
  return error(EADDRNOTAVAIL);
} catch (const std::bad_alloc&) {
  return error(ENOMEM);
}

PortClaim::PortClaim(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

PortClaim::~PortClaim() {
  Ports& ports = Ports::instance();
  std::lock_guard lock(ports.mutex);
  ports.names.erase(&impl_->name);
  if (impl_->is_ephemeral) ports.ephemeral.remove(impl_->space, impl_->holder.port);
  const auto claimed = ports.claimed.find({impl_->space, impl_->holder.port});
  if (impl_->is_claimed && claimed != ports.claimed.end()) ports.claimed.erase(claimed);
  impl_->name.reset();
}

uint16_t PortClaim::port() const {
  return impl_->holder.port;
}

Expected<void, Errno> PortClaim::listen() try {
  Ports& ports = Ports::instance();
  std::lock_guard lock(ports.mutex);
  if (!impl_->name) return error(EINVAL);
  if (!impl_->holder.may_share) return {};
  PortHolder alone = impl_->holder;
  alone.may_share = false;
  const auto look = lock_port(impl_->space, alone.port);
  if (!look) return error(look.error().value);
  // Our own name, which may share, is among them: one that is not ours makes two.
  const auto holders = list_holders(impl_->space);
  const auto others = std::count_if(holders.begin(), holders.end(), [&](const PortHolder& other) {
    return other.port == alone.port && conflict(other, alone);
  });
  if (others > 1) return error(EADDRINUSE);
  auto name = bind_name(impl_->space, alone);
  if (!name) return error(name.error().value);
  impl_->name = *std::move(name);
  impl_->holder = std::move(alone);
  return {};
} catch (const std::bad_alloc&) {
  return error(ENOMEM);
}

}  // namespace urxe::cm
