// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>

#include "packet/base/time.h"

namespace urxe::sim {

/// What a host drives: one or more queue pairs, the traffic they make and the model of what must
/// come of it. Each transport service has its own.
class Endpoint {
 public:
  Endpoint() = default;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  virtual ~Endpoint() = default;

  /// Whether completions of this queue pair are its own.
  [[nodiscard]] virtual bool owns(uint32_t qpn) const = 0;
  virtual void on_completion(const ibv_wc& wc) = 0;

  /// Posts sends as it likes.
  virtual void post_some(Instant now) = 0;
  /// No more requests of its own; what remains is posted as needed.
  virtual void stop() = 0;
  /// Whatever goes by a primary path is lost from now on.
  virtual void on_cut() {}
  /// Faults are over and nothing is on its way: where messages may have been lost before, those
  /// posted now must all arrive. stop() was called before.
  virtual void post_last() = 0;
  /// Nothing posted is without its completion, and nothing more will be.
  [[nodiscard]] virtual bool idle() const = 0;
  /// A queue pair is in error.
  [[nodiscard]] virtual bool failed() const = 0;
  /// The end of a run: what must hold once nothing is on its way.
  virtual void check_end() const = 0;

  /// Moves its queue pairs to the error state; from now on receives are flushed.
  virtual void flush(Instant now) = 0;
  /// For the report of a stall.
  [[nodiscard]] virtual std::string describe() const = 0;
};

}  // namespace urxe::sim
