// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>

#include "packet/base/time.h"
#include "packet/engine/raw/link_route.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

/// Remembers the routes to destinations until the kernel reports that a route, neighbour, interface
/// or address has changed. Allocates when a destination is new.
class RouteCache {
 public:
  /// Routes that are remembered at once; when there are more, all are forgotten.
  static constexpr size_t kMaxRoutes = 4096;
  /// A flood of reports makes it ask again no more often than this, after the first ones: a
  /// neighbour that answers causes several at once.
  static constexpr Duration kForgetInterval = milliseconds(20);
  static constexpr int64_t kForgetsAtOnce = 8;
  /// A route whose neighbour has not been confirmed is asked for again after so long.
  static constexpr Duration kConfirmInterval = seconds(20);
  /// A route that frames cannot take is asked for again, too: its lookup may have failed for want
  /// of memory, and the kernel does not report that there is memory again.
  static constexpr Duration kRetryInterval = seconds(2);

  using Find = std::function<LinkRoute(const Flow&)>;
  explicit RouteCache(Find find) : find_(std::move(find)) {}

  /// What lookup() returns.
  struct Route {
    LinkRoute link;
    /// This packet should go by UDP, so that the kernel asks the neighbour whether it is there.
    bool ask_kernel = false;
  };
  /// `now` may be a little late. Valid until the next call. Never fails: without memory a route is
  /// Kind::kOther.
  const Route& lookup(const Flow& flow, Instant now) noexcept;

  /// Something has changed: the routes are asked for again when they are needed.
  void forget(Instant now);

 private:
  struct Key {
    Gid source;
    Gid destination;
    uint8_t traffic_class;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const;
  };
  struct Entry {
    Route route;
    uint64_t generation = 0;
    Instant ask_at{};
  };
  Entry* find_entry(const Key& key) noexcept;
  void refresh(Entry& entry, const Flow& flow, Instant now);

  Find find_;
  std::unordered_map<Key, Entry, Hash> entries_;
  Key last_key_{};
  Entry* last_ = nullptr;  ///< the entry of last_key_
  Route none_;
  uint64_t generation_ = 1;
  bool forget_later_ = false;  ///< a report came too soon after those before
  int64_t forgets_left_ = kForgetsAtOnce;
  Instant counted_from_{};  ///< since then one more may be earned
};

}  // namespace urxe
