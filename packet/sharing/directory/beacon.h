// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

// Containers can share a network and have different file systems. A process there finds those of
// its user by the names of their beacons, and has one of them hand it the directory itself. A name
// proves nothing; the kernel says whose socket is at the other end of a connection.

/// An abstract unix socket, whose name tells which directory the process shares, and which hands
/// out a descriptor of it to processes of the same user.
class Beacon {
 public:
  /// `directory` outlives this. If no socket can be had, there is none: processes with other file
  /// systems then cannot find this one.
  Beacon(int directory, const std::string& directory_name, uid_t user);

  /// Readable while answer() would do something; -1: no socket.
  [[nodiscard]] int fd() const { return fd_.get(); }
  /// Answers some of those that wait. Never blocks.
  void answer() const;
  /// Whose processes it answers.
  [[nodiscard]] uid_t user() const { return user_; }

 private:
  int directory_;
  uid_t user_;
  FileDescriptor fd_;
};

/// A connection to a beacon of the user.
struct BeaconLink {
  std::string directory_name;
  FileDescriptor socket;  ///< none if too many others wait for the beacon's answer
};

/// Connects to beacons of `user` in the calling thread's network namespace: to at most `most` for
/// each directory whose name begins with `prefix`, and to none for the directory `except`. Names
/// that other users have bound are passed over without a connection, if the kernel tells whose they
/// are (since Linux 5.3).
std::vector<BeaconLink> find_beacons(const std::string& prefix, uid_t user, size_t most = 1,
                                     const std::string& except = "");

/// Waits up to a second for the directory. ETIMEDOUT: the process does not answer, or there is no
/// connection; otherwise as recvmsg(2).
Expected<FileDescriptor, Errno> receive_directory(const BeaconLink& link);

}  // namespace urxe
