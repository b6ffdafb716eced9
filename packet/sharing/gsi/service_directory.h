// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "packet/base/expected.h"
#include "packet/sharing/holders/holder.h"
#include "packet/sharing/holders/holder_table.h"
#include "packet/wire/cm/cm_message.h"
#include "packet/wire/gid.h"

namespace urxe {

/// A process's entry for a service in the table, before and after it is there.
class ServiceEntry {
 public:
  /// Service and address (zeros stand for all addresses), and the place in the table.
  using Places = std::map<std::pair<ServiceId, std::array<uint8_t, 16>>, uint32_t>;

  /// Puts it there; errors as HolderTable::take(), for which it may wait. Uses nothing of the
  /// ServiceDirectory.
  Expected<void, Errno> enter();

 private:
  friend class ServiceDirectory;
  HolderTable* table_ = nullptr;
  HolderKey key_{HolderKey::Kind::kService};
  HolderTable::Record record_;
  /// What ServiceDirectory keeps. It is there before the entry is: nothing may fail after that.
  Places::node_type kept_;
};

/// The services that the user's processes listen for at QP1 of an interface. The processes enter
/// them in a HolderTable, with their slots: requests for all services of a process come to one
/// socket, SharingDirectory::services_name(). Not thread-safe.
class ServiceDirectory {
 public:
  /// The slot is this process's, in `directory`, which outlives this.
  ServiceDirectory(const SharingDirectory& directory, uint32_t slot, uint32_t interface_index)
      : directory_(directory), slot_(slot), interface_index_(interface_index) {}

  /// An entry for a service of this process, on exactly that address (or on all addresses, if
  /// `local` is nullopt). After ServiceEntry::enter() has succeeded, start_listening() makes the
  /// process listen. EADDRINUSE: it does; EMFILE, ENFILE, ENOMEM; ENOSPC: no room in the directory.
  Expected<ServiceEntry, Errno> prepare_listening(ServiceId service,
                                                  const std::optional<Gid>& local);
  void start_listening(ServiceEntry entry);
  /// All of that at once.
  Expected<void, Errno> listen(ServiceId service, const std::optional<Gid>& local);
  void stop_listening(ServiceId service, const std::optional<Gid>& local);
  /// The descriptor of the socket that requests come to, which the caller watches and reads; -1
  /// before the first prepare_listening() that has succeeded.
  [[nodiscard]] int socket() const { return socket_.get(); }

  /// Whether this process listens for the service there.
  [[nodiscard]] bool listens(ServiceId service, const std::optional<Gid>& local) const;
  /// Changes whenever a process begins to listen. To be read before find_other().
  [[nodiscard]] uint32_t changes();
  /// The socket of another process that listens there.
  std::optional<UnixName> find_other(ServiceId service, const std::optional<Gid>& local);

 private:
  using Places = ServiceEntry::Places;
  static Places::key_type key(ServiceId service, const std::optional<Gid>& local);
  [[nodiscard]] HolderTable::Words words(const std::optional<Gid>& local) const;
  Expected<HolderTable*, Errno> table();
  Expected<void, Errno> open_holder();

  const SharingDirectory& directory_;
  uint32_t slot_;
  uint32_t interface_index_;
  HolderTable* table_ = nullptr;
  Holder holder_;
  FileDescriptor socket_;
  Places services_;       ///< that the process listens for
  uint32_t started_ = 0;  ///< calls of start_listening()
};

}  // namespace urxe
