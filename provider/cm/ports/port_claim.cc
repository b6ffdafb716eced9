// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/ports/port_claim.h"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "packet/sharing/holders/holder.h"
#include "packet/sharing/holders/holder_table.h"
#include "provider/cm/ports/ephemeral_ports.h"
#include "provider/cm/ports/port_use.h"
#include "provider/runtime/errors.h"

namespace urxe::cm {

/// This process as a holder of ports in a network namespace.
struct Claimant {
  HolderTable* table = nullptr;
  Holder holder;  ///< none: a forked child's copy
  UsedPorts ephemeral;
};

namespace {

Unexpected<Errno> report(const EngineError& why) {
  print_failure(why.what, why.errno_value);
  return error(why.errno_value);
}

/// This process as a holder, by network namespace. A forked child is another holder, and must not
/// keep the parent's ports alive, so a fork() waits until no claim is under way.
class Claimants {
 public:
  // Never destroyed: exit handlers may still release ports.
  static Claimants& instance() {
    static auto* const claimants = new Claimants;
    return *claimants;
  }

  std::mutex mutex;

  /// In the calling thread's namespace. With the lock held. EMFILE, ENFILE, ENOMEM; otherwise as
  /// SharingDirectory::here().
  Expected<std::shared_ptr<Claimant>, Errno> here() {
    const auto directory = SharingDirectory::here();
    if (!directory) return report(directory.error());
    const auto table = HolderTable::open(**directory);
    if (!table) return error(table.error().value);
    std::shared_ptr<Claimant>& claimant = by_table_[*table];
    if (claimant != nullptr) return claimant;
    auto holder = make_holder(**directory);
    if (!holder) return error(holder.error().value);
    claimant = std::make_shared<Claimant>();
    claimant->table = *table;
    claimant->holder = *std::move(holder);
    return claimant;
  }

 private:
  Claimants() {
    HolderTable::prepare();
    pthread_atfork([] { instance().mutex.lock(); }, [] { instance().mutex.unlock(); },
                   after_fork_in_child);
  }
  static void after_fork_in_child() {
    Claimants& self = instance();
    for (auto& [table, claimant] : self.by_table_) {
      if (claimant != nullptr) claimant->holder = {};
    }
    self.by_table_.clear();
    self.mutex.unlock();
  }

  std::map<HolderTable*, std::shared_ptr<Claimant>> by_table_;
};

}  // namespace

struct PortClaim::Impl {
  PortSpace space = PortSpace::kTcp;
  uint16_t port = 0;
  PortUse use;
  std::shared_ptr<Claimant> claimant;  ///< null: nothing was claimed
  uint32_t place = 0;                  ///< in the table; 0: an ephemeral port

  [[nodiscard]] bool is_parents() const { return claimant->holder.number == 0; }
  [[nodiscard]] bool is_in_my_way(const HolderTable::Words& other) const {
    return conflict(from_words(other), use);
  }
  [[nodiscard]] HolderTable::Record record() const {
    return {claimant->holder.number, to_words(use)};
  }

  Expected<void, Errno> take(uint16_t wanted);
  Expected<void, Errno> take_any();
  void give_back() const;
};

Expected<void, Errno> PortClaim::Impl::take(uint16_t wanted) {
  const auto taken = claimant->table->take(
      port_key(space, wanted), record(),
      [this](const HolderTable::Words& other) { return is_in_my_way(other); });
  if (!taken) return error(taken.error().value);
  place = *taken;
  port = wanted;
  return {};
}

Expected<void, Errno> PortClaim::Impl::take_any() {
  PortSearch search(ephemeral_range());
  while (const auto candidate = search.next()) {
    if (claimant->ephemeral.has(space, *candidate)) continue;
    auto taken = take(*candidate);
    if (taken || taken.error().value != EADDRINUSE) return taken;
  }
  return error(EADDRINUSE);
}

void PortClaim::Impl::give_back() const {
  if (claimant == nullptr || is_parents()) return;
  if (place != 0) {
    claimant->table->release(place, claimant->holder.number);
  } else if (port != 0) {
    claimant->ephemeral.remove(space, port);
  }
}

void PortClaim::prepare() {
  Claimants::instance();
}

// The object is made before the lock is taken, because its destructor takes the lock on failure.
Expected<std::shared_ptr<PortClaim>, Errno> PortClaim::claim(const Request& request) try {
  auto claim = std::shared_ptr<PortClaim>(new PortClaim(std::make_unique<Impl>()));
  Impl& impl = *claim->impl_;
  impl.space = request.space;
  impl.use = PortUse::of(request.address, request.reuse_address, request.af_only);
  Claimants& claimants = Claimants::instance();
  std::lock_guard lock(claimants.mutex);
  auto claimant = claimants.here();
  if (!claimant) return error(claimant.error().value);
  impl.claimant = *std::move(claimant);
  const uint16_t wanted = request.address.port();
  const auto taken = wanted != 0 ? impl.take(wanted) : impl.take_any();
  if (!taken) return error(taken.error().value);
  return claim;
} catch (const std::bad_alloc&) {
  return error(ENOMEM);
}

Expected<std::shared_ptr<PortClaim>, Errno> PortClaim::take_ephemeral(PortSpace space) try {
  auto claim = std::shared_ptr<PortClaim>(new PortClaim(std::make_unique<Impl>()));
  Impl& impl = *claim->impl_;
  impl.space = space;
  Claimants& claimants = Claimants::instance();
  std::lock_guard lock(claimants.mutex);
  auto claimant = claimants.here();
  if (!claimant) return error(claimant.error().value);
  impl.claimant = *std::move(claimant);
  HolderTable& table = *impl.claimant->table;
  const auto lives = [&](const HolderTable::Record& r) { return table.lives(r.holder); };
  PortSearch search(ephemeral_range());
  while (const auto port = search.next()) {
    if (impl.claimant->ephemeral.has(space, *port)) continue;
    if (std::ranges::any_of(table.find(port_key(space, *port)), lives)) continue;
    impl.port = *port;
    impl.claimant->ephemeral.add(space, *port);
    return claim;
  }
  return error(EADDRNOTAVAIL);
} catch (const std::bad_alloc&) {
  return error(ENOMEM);
}

PortClaim::PortClaim(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

PortClaim::~PortClaim() {
  std::lock_guard lock(Claimants::instance().mutex);
  impl_->give_back();
}

uint16_t PortClaim::port() const {
  return impl_->port;
}

Expected<void, Errno> PortClaim::listen() try {
  Impl& impl = *impl_;
  std::lock_guard lock(Claimants::instance().mutex);
  if (impl.place == 0 || impl.is_parents()) return error(EINVAL);
  if (!impl.use.may_share) return {};
  impl.use.may_share = false;
  const auto changed = impl.claimant->table->change(
      impl.place, port_key(impl.space, impl.port), impl.record(),
      [&](const HolderTable::Words& other) { return impl.is_in_my_way(other); });
  if (!changed) impl.use.may_share = true;
  return changed;
} catch (const std::bad_alloc&) {
  return error(ENOMEM);
}

}  // namespace urxe::cm
