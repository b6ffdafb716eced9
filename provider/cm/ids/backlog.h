// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <map>

#include "transport/cm/requests/request_gate.h"

namespace urxe::cm {

/// The places of a listener for connection requests that its application has not read. When one
/// source, or several, have filled them, each other source still finds a quarter as many, at least
/// one: a flood of requests leaves room for others'. In all there are no more than twice as many.
class Backlog {
 public:
  void open(uint32_t places) { places_ = places; }
  /// False: the request finds no place. Throws std::bad_alloc.
  [[nodiscard]] bool take(const RequestSource::Key& source);
  /// The application has read a request of the source, or it is over.
  void give_back(const RequestSource::Key& source);

 private:
  uint32_t places_ = 0;
  uint32_t used_ = 0;
  std::map<RequestSource::Key, uint32_t> used_by_;  ///< never 0
};

}  // namespace urxe::cm
