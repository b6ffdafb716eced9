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

/// The name of a process that listens for a service on an address of the interface, or (nullopt) on
/// all; of its first services only.
UnixName service_name(uint32_t interface_index, ServiceId service, const std::optional<Gid>& local);

/// Who of a user's processes listens for which services at QP1 of an interface. They find each
/// other in a HolderTable, so that all that this process listens for comes to one socket. Its first
/// few services have a socket with a name of their own, besides: for processes that cannot see that
/// table (see there), and for people who look. Not thread-safe.
class ServiceDirectory {
 public:
  /// Where there is no table to be shared, all services have names.
  static constexpr size_t kMostNamed = 16;

  explicit ServiceDirectory(uint32_t interface_index) : interface_index_(interface_index) {}

  /// From now on the service is ours. The numbers of the sockets that were opened for it: to be
  /// watched and read. EADDRINUSE: somebody listens for it on that address, or on all where we want
  /// all; EMFILE and such; ENOMEM.
  Expected<std::vector<uint32_t>, Errno> listen(ServiceId service, const std::optional<Gid>& local);
  void stop_listening(ServiceId service, const std::optional<Gid>& local);
  /// -1: no such socket any more.
  [[nodiscard]] int socket(uint32_t number) const;

  /// Whether this process listens there.
  [[nodiscard]] bool listens(ServiceId service, const std::optional<Gid>& local) const;
  /// The names of sockets that others listen there with, those to be tried first first. Some may be
  /// gone.
  std::vector<UnixName> find_others(ServiceId service, const std::optional<Gid>& local);

 private:
  /// Service and address; all addresses: zero, which is none.
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
  uint64_t holder_ = 0;          ///< 0: there is none yet
  bool told_of_holder_ = false;  ///< listen() has told the number of its socket
  std::map<Key, Listening> services_;
  size_t named_ = 0;
  std::vector<FileDescriptor> sockets_;  ///< by number; closed ones are used again
};

}  // namespace urxe
