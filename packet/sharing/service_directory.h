// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "packet/base/expected.h"
#include "packet/sharing/holder.h"
#include "packet/sharing/holder_table.h"
#include "packet/wire/cm_message.h"
#include "packet/wire/gid.h"

namespace urxe {

/// The services that the user's processes listen for at QP1 of an interface. The processes enter
/// them in a HolderTable, with their slots: requests for all services of a process come to one
/// socket, SharingDirectory::services_name(). Not thread-safe.
class ServiceDirectory {
 public:
  /// The slot is this process's, in `directory`, which outlives this.
  ServiceDirectory(const SharingDirectory& directory, uint32_t slot, uint32_t interface_index)
      : directory_(directory), slot_(slot), interface_index_(interface_index) {}

  /// Enters a service of this process. EADDRINUSE: a process, perhaps this one, listens for the
  /// service on exactly that address (or on all addresses, if `local` is nullopt); EMFILE, ENFILE,
  /// ENOMEM; ENOSPC: no room in the directory.
  Expected<void, Errno> listen(ServiceId service, const std::optional<Gid>& local);
  void stop_listening(ServiceId service, const std::optional<Gid>& local);
  /// The descriptor of the socket that requests come to, which the caller watches and reads; -1 if
  /// no call of listen() has succeeded yet.
  [[nodiscard]] int socket() const { return socket_.get(); }

  /// Whether this process listens for the service there.
  [[nodiscard]] bool listens(ServiceId service, const std::optional<Gid>& local) const;
  /// A number that is another one after some process has begun to listen. To be read before
  /// find_other().
  [[nodiscard]] uint32_t changes();
  /// The socket of another process that listens there.
  std::optional<UnixName> find_other(ServiceId service, const std::optional<Gid>& local);

 private:
  /// Service and address; zero stands for all addresses.
  using Key = std::pair<ServiceId, std::array<uint8_t, 16>>;
  static Key key(ServiceId service, const std::optional<Gid>& local);
  [[nodiscard]] HolderTable::Words words(const std::optional<Gid>& local) const;
  Expected<HolderTable*, Errno> table();
  Expected<void, Errno> open_holder();

  const SharingDirectory& directory_;
  uint32_t slot_;
  uint32_t interface_index_;
  HolderTable* table_ = nullptr;
  Holder holder_;
  FileDescriptor socket_;
  std::map<Key, uint32_t> services_;  ///< their places in the table
};

}  // namespace urxe
