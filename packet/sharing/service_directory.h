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

/// The name of the socket of a process that listens for a service on an address of the interface,
/// or (nullopt) on all of them.
UnixName service_name(uint32_t interface_index, ServiceId service, const std::optional<Gid>& local);

/// The services that the user's processes listen for at QP1 of an interface. The processes enter
/// them in a HolderTable. Requests for all services of this process come to one socket, its
/// holder's. Its first few services also have a socket with a name of their own: for processes
/// that cannot see the table (see there), and for people who look with ss(8). Not thread-safe.
class ServiceDirectory {
 public:
  /// Services with a socket of their own. All have one if the table is not shared.
  static constexpr size_t kMostNamed = 16;

  explicit ServiceDirectory(uint32_t interface_index) : interface_index_(interface_index) {}

  /// Enters a service of this process. Returns the numbers of the sockets that were opened for it;
  /// the caller watches and reads them. EADDRINUSE: a process, perhaps this one, listens for the
  /// service on exactly that address (or on all addresses, if `local` is nullopt); EMFILE, ENFILE,
  /// ENOMEM.
  Expected<std::vector<uint32_t>, Errno> listen(ServiceId service, const std::optional<Gid>& local);
  void stop_listening(ServiceId service, const std::optional<Gid>& local);
  /// The descriptor of a socket by its number; -1 if it is closed.
  [[nodiscard]] int socket(uint32_t number) const;

  /// Whether this process listens for the service there.
  [[nodiscard]] bool listens(ServiceId service, const std::optional<Gid>& local) const;
  /// The names of the sockets of other processes that listen there, in the order to try them. Some
  /// may no longer exist.
  std::vector<UnixName> find_others(ServiceId service, const std::optional<Gid>& local);

 private:
  /// Service and address; zero stands for all addresses.
  using Key = std::pair<ServiceId, std::array<uint8_t, 16>>;
  struct Listening {
    uint32_t place = 0;             ///< in the table
    std::optional<uint32_t> named;  ///< the number of the socket of its own
  };
  static Key key(ServiceId service, const std::optional<Gid>& local);
  [[nodiscard]] HolderTable::Words words(const std::optional<Gid>& local) const;
  Expected<void, Errno> open_holder();
  Expected<void, Errno> add_name(ServiceId service, const std::optional<Gid>& local,
                                 Listening& listening);
  uint32_t add_socket(FileDescriptor fd);
  void remove_name(Listening& listening);

  uint32_t interface_index_;
  HolderTable* table_ = nullptr;
  uint64_t holder_ = 0;          ///< 0: not made yet
  bool told_of_holder_ = false;  ///< listen() has returned the number of its socket
  std::map<Key, Listening> services_;
  size_t named_ = 0;
  std::vector<FileDescriptor> sockets_;  ///< by number; numbers of closed ones are used again
};

}  // namespace urxe
