// SPDX-License-Identifier: BSD-2-Clause
// Contexts, protection domains and regions that are shared by importing them.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "tests/conformance/support/fixture.h"

namespace conformance {
namespace {

/// A device of which a second context was imported.
struct Import : Conformance {
  /// By a copy of the command descriptor.
  void import_device() {
    Device imported;
    imported.context.reset(ibv_import_device(::dup(context()->cmd_fd)));
    if (!need(imported.context != nullptr || !is_unsupported(errno), "imported devices")) return;
    ASSERT_NE(imported.context, nullptr) << std::strerror(errno);
    imported.attr = device_.attr;
    imported.port_attr = device_.port_attr;
    imported.port = device_.port;
    imported.gid_index = device_.gid_index;
    imported.gid = device_.gid;
    imported_ = std::move(imported);
  }
  bool stopped() const { return IsSkipped() || HasFailure(); }
  ibv_context* second() const { return imported_.context.get(); }

  Device imported_;
};

TEST_F(Import, DeviceIsTheSame) {
  checks("ibv_import_device(3)");
  import_device();
  if (stopped()) return;
  EXPECT_NE(second(), context());
  EXPECT_STREQ(ibv_get_device_name(second()->device), ibv_get_device_name(context()->device));
  ibv_port_attr port{};
  ASSERT_EQ(ibv_query_port(second(), device_.port, &port), 0);
  EXPECT_EQ(port.active_mtu, device_.port_attr.active_mtu);
}

TEST_F(Import, DeviceHasEventsOfItsOwn) {
  checks("ibv_import_device(3); ibv_get_async_event(3)");
  import_device();
  if (stopped()) return;
  ASSERT_GE(second()->async_fd, 0);
  EXPECT_NE(second()->async_fd, context()->async_fd);
  const int flags = ::fcntl(second()->async_fd, F_GETFL);
  ASSERT_EQ(::fcntl(second()->async_fd, F_SETFL, flags | O_NONBLOCK), 0);
  ibv_async_event event{};
  EXPECT_EQ(ibv_get_async_event(second(), &event), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(Import, DeviceGivesChannels) {
  checks("ibv_import_device(3); ibv_create_comp_channel(3)");
  import_device();
  if (stopped()) return;
  ibv_comp_channel* const channel = ibv_create_comp_channel(second());
  ASSERT_NE(channel, nullptr);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
}

TEST_F(Import, ClosingOneLeavesTheOther) {
  checks("ibv_import_device(3); ibv_close_device(3)");
  import_device();
  if (stopped()) return;
  imported_.context.reset();
  ibv_port_attr port{};
  EXPECT_EQ(ibv_query_port(context(), device_.port, &port), 0);
  EXPECT_NE(alloc_pd(), nullptr);
}

// Queue pairs of the second context move data with the first one's domain and region.
TEST_F(Import, DomainAndRegionMoveData) {
  checks("ibv_import_pd(3); ibv_import_mr(3)");
  import_device();
  if (stopped()) return;
  const PdPtr pd = alloc_pd();
  Buffer buffer(pd.get(), 4096);
  buffer.fill_pattern();
  ibv_pd* const shared = ibv_import_pd(second(), pd->handle);
  ASSERT_NE(shared, nullptr) << std::strerror(errno);
  EXPECT_EQ(shared->context, second());
  EXPECT_EQ(shared->handle, pd->handle);
  ibv_mr* const region = ibv_import_mr(shared, buffer.mr->handle);
  ASSERT_NE(region, nullptr) << std::strerror(errno);
  EXPECT_EQ(region->lkey, buffer.mr->lkey);
  EXPECT_EQ(region->rkey, buffer.mr->rkey);
  EXPECT_EQ(region->handle, buffer.mr->handle);
  EXPECT_EQ(region->pd, shared);
  EXPECT_EQ(region->context, second());
  {
    QpConfig config;
    config.pd = shared;
    Endpoint left(imported_, config);
    Endpoint right(imported_, config);
    left.connect_to(right.number());
    right.connect_to(left.number());
    Send write(1, IBV_WR_RDMA_WRITE);
    ibv_sge source = buffer.sge(0, 2048);
    source.lkey = region->lkey;
    write.data(source).remote(buffer.address(2048), region->rkey);
    ASSERT_EQ(write.post(left.qp.get()), 0);
    expect_completion(left.send_cq.get(), 1);
    EXPECT_EQ(std::memcmp(&buffer.bytes[0], &buffer.bytes[2048], 2048), 0);
  }
  ibv_unimport_mr(region);
  ibv_unimport_pd(shared);
}

// What was imported goes with its context, and what it was imported from does not.
TEST_F(Import, OriginalsOutliveTheirImports) {
  checks("ibv_import_pd(3); ibv_import_mr(3); ibv_close_device(3)");
  import_device();
  if (stopped()) return;
  const PdPtr pd = alloc_pd();
  Buffer buffer(pd.get(), 64);
  ibv_pd* const shared = ibv_import_pd(second(), pd->handle);
  ASSERT_NE(shared, nullptr);
  ibv_mr* const region = ibv_import_mr(shared, buffer.mr->handle);
  ASSERT_NE(region, nullptr);
  ibv_unimport_mr(region);
  ibv_unimport_pd(shared);
  ASSERT_NE(ibv_import_mr(ibv_import_pd(second(), pd->handle), buffer.mr->handle), nullptr);
  imported_.context.reset();
  QpConfig config;
  config.pd = pd.get();
  Endpoint self(device_, config);
  self.connect_to(self.number());
  Send write(1, IBV_WR_RDMA_WRITE);
  write.data(buffer.sge(0, 8)).remote(buffer.address(8), buffer.rkey());
  ASSERT_EQ(write.post(self.qp.get()), 0);
  expect_completion(self.send_cq.get(), 1);
}

TEST_F(Import, DeviceMemory) {
  checks("ibv_import_dm(3)");
  import_device();
  if (stopped()) return;
  if (!need(device_.attr.max_dm_size >= 4096, "device memory")) return;
  ibv_alloc_dm_attr wanted{};
  wanted.length = 4096;
  const DmPtr memory(ibv_alloc_dm(context(), &wanted));
  ASSERT_NE(memory, nullptr);
  ibv_dm* const shared = ibv_import_dm(second(), memory->handle);
  if (!need(shared != nullptr || !is_unsupported(errno), "imported device memory")) return;
  ASSERT_NE(shared, nullptr) << std::strerror(errno);
  EXPECT_EQ(shared->context, second());
  EXPECT_EQ(shared->handle, memory->handle);
  const uint64_t in = 0x1122334455667788;
  uint64_t out = 0;
  ASSERT_EQ(ibv_memcpy_to_dm(memory.get(), 64, &in, sizeof in), 0);
  ASSERT_EQ(ibv_memcpy_from_dm(&out, shared, 64, sizeof out), 0);
  EXPECT_EQ(out, in);
  {
    const PdPtr pd(ibv_alloc_pd(second()));
    const MrPtr region(ibv_reg_dm_mr(pd.get(), shared, 0, 4096, IBV_ACCESS_ZERO_BASED));
    EXPECT_NE(region, nullptr);
  }
  ibv_unimport_dm(shared);
}

TEST_F(Import, WhatIsNotThere) {
  checks("ibv_import_pd(3); ibv_import_mr(3): NULL and errno");
  import_device();
  if (stopped()) return;
  errno = 0;
  EXPECT_EQ(ibv_import_pd(second(), 0x7fffffff), nullptr);
  EXPECT_EQ(errno, ENOENT);
  const PdPtr pd = alloc_pd();
  ibv_pd* const shared = ibv_import_pd(second(), pd->handle);
  ASSERT_NE(shared, nullptr);
  errno = 0;
  EXPECT_EQ(ibv_import_mr(shared, 0x7fffffff), nullptr);
  EXPECT_EQ(errno, ENOENT);
  uint32_t gone = 0;
  {
    const Buffer buffer(pd.get(), 64);
    gone = buffer.mr->handle;
  }
  errno = 0;
  EXPECT_EQ(ibv_import_mr(shared, gone), nullptr);
  EXPECT_EQ(errno, ENOENT);
  ibv_unimport_pd(shared);
}

TEST_F(Import, AFileThatIsNoDevice) {
  checks("ibv_import_device(3): NULL and errno");
  import_device();
  if (stopped()) return;
  for (const char* const path : {"/dev/null", "/etc/passwd"}) {
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    errno = 0;
    EXPECT_EQ(ibv_import_device(fd), nullptr) << path;
    EXPECT_NE(errno, 0);
    ::close(fd);
  }
}

void send_descriptor(int socket, int fd) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  if (::sendmsg(socket, &message, 0) != 1) _exit(2);
}

int receive_descriptor(int socket) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return -1;
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return fd;
}

/// Opens the device in this process, which is a child of the test's, and keeps it open.
[[noreturn]] void open_and_pass(const char* name, int socket) {
  ibv_device** const list = ibv_get_device_list(nullptr);
  ibv_context* opened = nullptr;
  for (int i = 0; list != nullptr && list[i] != nullptr; ++i) {
    if (std::strcmp(ibv_get_device_name(list[i]), name) == 0) opened = ibv_open_device(list[i]);
  }
  if (opened == nullptr) _exit(1);
  send_descriptor(socket, opened->cmd_fd);
  char byte = 0;
  static_cast<void>(::read(socket, &byte, 1));  // until the test closes its end
  _exit(0);
}

// Another process's device, by a descriptor that it passes on. Expect: a context, or the errno that
// says that the device cannot do that.
TEST_F(Import, FromAnotherProcess) {
  checks("ibv_import_device(3): the cmd_fd may be passed by a UNIX socket");
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::close(ends[0]);
    open_and_pass(ibv_get_device_name(context()->device), ends[1]);
  }
  ::close(ends[1]);
  const int fd = receive_descriptor(ends[0]);
  EXPECT_GE(fd, 0);
  errno = 0;
  const ContextPtr imported(fd >= 0 ? ibv_import_device(fd) : nullptr);
  if (imported == nullptr) {
    EXPECT_TRUE(is_unsupported(errno)) << std::strerror(errno);
    ::close(fd);
  }
  ::close(ends[0]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace conformance
