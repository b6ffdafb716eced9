// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packet/wire/gid.h"

namespace urxe {

/// The addresses that a lane has opened, with the number of source ports claimed on each. When an
/// interface loses an address, the engine's sockets for it can be closed: a program that listens on
/// all addresses would otherwise keep those of every address that the interface ever had. An
/// address that was asked for by name is opened again when it comes back.
class LocalAddresses {
 public:
  /// Of the addresses that are closed, the last ones that somebody asked for are remembered.
  static constexpr size_t kMostClosed = 1024;

  /// `asked_for`: by name, and not because all addresses are wanted.
  void open(const Gid& local, bool asked_for);
  /// A source port was claimed on an open address, or given back.
  void claim(const Gid& local);
  void release(const Gid& local);

  /// Removes an open address that is not among `present` and that nothing sends from; the caller
  /// closes it. Zero: there is none.
  Gid take_lost(std::span<const Gid> present);
  /// Those of `present` that were asked for and are closed.
  [[nodiscard]] std::vector<Gid> returned(std::span<const Gid> present) const;

 private:
  struct Address {
    Gid local;
    bool asked_for;
    uint32_t ports = 0;  ///< claimed
  };

  std::vector<Address> open_;
  std::vector<Gid> closed_;  ///< the last one closed is the last
};

}  // namespace urxe
