// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <rdma/ib_user_mad.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"
#include "transport/mad/mad_agents.h"

namespace urxe::umad {

/// An agent of a file.
struct FileAgent {
  MadAgentKey key;
  MadMethods methods{};            ///< none: it only sends
  bool leaves_rmpp = false;        ///< segments are the kernel's to make and to put together
  std::optional<MadAgentId> id{};  ///< nullopt: it has not used the device yet

  [[nodiscard]] bool serves() const { return methods != MadMethods{}; }
};

/// An open file of a umad node. The application holds one end of a pair of sockets, from which it
/// reads whole datagrams as from the kernel's file, and which it can poll. The other end belongs to
/// this object.
///
/// Only create(), header_bytes(), device(), application_inode() and own_fd() are thread-safe; the
/// rest is under the service's lock.
class UmadFile {
 public:
  /// As in the kernel.
  static constexpr size_t kMostAgents = 32;

  /// `open_flags`: flags of open(2), of which O_CLOEXEC and O_NONBLOCK count. The caller owns
  /// `application_fd`. EMFILE, ENFILE, ENOMEM.
  static Expected<std::shared_ptr<UmadFile>, Errno> create(std::string device, int open_flags,
                                                           int* application_fd);
  UmadFile(const UmadFile&) = delete;
  UmadFile& operator=(const UmadFile&) = delete;

  /// The name of the device whose port this is.
  [[nodiscard]] const std::string& device() const { return device_; }
  /// Identifies the file under any of its descriptors.
  [[nodiscard]] ino_t application_inode() const { return inode_; }
  /// Hangs up (EPOLLHUP) when the application has closed its last descriptor.
  [[nodiscard]] int own_fd() const { return own_fd_.get(); }
  /// The bytes before a MAD, in what is read and written.
  [[nodiscard]] size_t header_bytes() const { return header_bytes_.load(); }

  /// From now on headers have a P_Key index. EINVAL: it is too late.
  Expected<void, Errno> enable_pkey_index();
  /// Adds an agent and returns its number. ENOMEM: there are kMostAgents.
  Expected<uint32_t, Errno> add(const FileAgent& agent);
  /// nullptr: there is no such agent.
  FileAgent* agent(uint32_t number);
  void remove(uint32_t number) { agents_[number].reset(); }

  /// Whether the application has read enough for another datagram to be sent.
  [[nodiscard]] bool has_room() const;
  /// Whether the application has closed its last descriptor.
  [[nodiscard]] bool is_closed() const;
  /// Gives the application a datagram. It is lost if there is no room.
  void send(const ib_user_mad_hdr& header, std::span<const uint8_t> mad);
  /// Nothing will come any more: after what it has not read the application reads the end of the
  /// file.
  void end();
  [[nodiscard]] bool has_ended() const { return has_ended_; }

 private:
  UmadFile(std::string device, FileDescriptor own_fd, ino_t inode);

  const std::string device_;
  const FileDescriptor own_fd_;
  const ino_t inode_;
  std::atomic<size_t> header_bytes_;
  bool is_used_ = false;  ///< an agent was added once
  bool has_ended_ = false;
  std::array<std::optional<FileAgent>, kMostAgents> agents_{};
};

}  // namespace urxe::umad
