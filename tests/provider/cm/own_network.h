// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "packet/host/file_descriptor.h"

namespace urxe::test {

/// A network namespace that this thread can enter.
class NetworkNamespace {
 public:
  /// A new one with the loopback interface up; the calling thread stays where it is.
  static NetworkNamespace make();
  /// The calling thread's.
  static NetworkNamespace current();
  [[nodiscard]] bool enter() const;
  /// As `ip` takes it after "netns".
  [[nodiscard]] std::string path() const;
  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(fd_); }

 private:
  FileDescriptor fd_;
};

/// Runs the words with the shell in the calling thread's network namespace; true where all went
/// well.
bool run(const std::string& command);

/// A test in a network namespace of its own, joined by veth with another one; skipped where that
/// is not allowed. Ours is urxa, 10.99.0.1/24 and fd00:99::1/64; theirs urxb, 10.99.0.2 and
/// fd00:99::2; both have a link-local address. Neighbours that do not answer are given up soon.
class OwnNetwork : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// Makes a device of each interface that is up and has an address.
  void publish_devices();
  /// Makes devices of these interfaces, and no others.
  static void publish_only(const std::vector<std::string>& names);
  static uint32_t interface(const char* name);
  /// The link-local address of an interface of that namespace's thread: "fe80::1".
  static std::string link_local(const char* interface_name);

  NetworkNamespace before_;
  NetworkNamespace ours_;
  NetworkNamespace theirs_;
};

}  // namespace urxe::test
