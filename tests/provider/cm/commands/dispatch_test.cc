// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/commands/dispatch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "provider/cm/addresses/addresses.h"
#include "tests/provider/cm/commands/fake_commands.h"

namespace urxe::cm {
namespace {

using Calls = std::vector<std::string>;

/// An address that nothing is mapped at, and bytes before it that are.
class Page {
 public:
  Page() {
    at_ = static_cast<uint8_t*>(
        mmap(nullptr, 2 * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(at_ + kBytes, kBytes, PROT_NONE);
  }
  ~Page() { munmap(at_, 2 * kBytes); }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  [[nodiscard]] uint8_t* end() const { return at_ + kBytes; }
  [[nodiscard]] uint64_t bad_address() const { return reinterpret_cast<uint64_t>(end()); }

 private:
  static constexpr size_t kBytes = 65536;  // some pages, on any machine
  uint8_t* at_;
};

class DispatchTest : public ::testing::Test {
 protected:
  struct Opened {
    std::shared_ptr<CmFile> file;
    FileDescriptor fd;
  };

  Opened open_file() {
    int fd = -1;
    auto made = CmFile::create(O_CLOEXEC | O_NONBLOCK, &fd);
    EXPECT_TRUE(made);
    files_.add(*made);
    return {*made, FileDescriptor(fd)};
  }

  /// 0, or the errno value; -1: must wait. `in`: what the header says, the command's length else.
  int write_bytes(int fd, uint32_t number, const void* bytes, size_t length, size_t out,
                  std::optional<size_t> in = std::nullopt) {
    std::vector<uint8_t> buffer(sizeof(rdma_ucm_cmd_hdr) + length);
    rdma_ucm_cmd_hdr header{number, static_cast<uint16_t>(in.value_or(length)),
                            static_cast<uint16_t>(out)};
    std::memcpy(buffer.data(), &header, sizeof header);
    std::memcpy(buffer.data() + sizeof header, bytes, length);
    auto result = try_command({fake_command_table(), files_}, fd, buffer.data(), buffer.size());
    if (!result) return -1;
    if (!*result) return result->error().value;
    EXPECT_EQ(**result, buffer.size());
    return 0;
  }

  template <class Command>
  int write(uint32_t number, const Command& command, size_t out = 0) {
    return write_bytes(opened_.fd.get(), number, &command, sizeof command, out);
  }

  template <class Command, class Response>
  int ask(uint32_t number, Command command, Response& response) {
    command.response = reinterpret_cast<uint64_t>(&response);
    return write(number, command, sizeof response);
  }

  void post(uint32_t status, uint32_t owner = 1) {
    CmFileEvent event;
    event.owner = owner;
    event.response.status = status;
    event.response.ece.vendor_id = 99;
    ASSERT_TRUE(opened_.file->post(event));
  }

  static bool is_readable(const FileDescriptor& fd) {
    pollfd poll_fd{fd.get(), POLLIN, 0};
    return poll(&poll_fd, 1, 0) == 1;
  }

  OpenFiles files_;
  Opened opened_ = open_file();
  FakeCommands& fake_ = reset_fake_commands();
  Page page_;
};

template <class Command>
Command about(uint32_t id) {
  Command command{};
  command.id = id;
  return command;
}

template <class Storage, class Address>
void put(Storage& storage, const Address& address) {
  static_assert(sizeof(Storage) >= sizeof(Address));
  std::memcpy(&storage, &address, sizeof address);
}

sockaddr_in ipv4() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = 0x01020304;
  return address;
}

sockaddr_in6 ipv6() {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  return address;
}

TEST_F(DispatchTest, ADescriptorThatIsNoFileOfOursIsRefused) {
  FileDescriptor plain(open("/dev/null", O_RDWR | O_CLOEXEC));
  rdma_ucm_listen command{1, 2};
  EXPECT_EQ(write_bytes(plain.get(), RDMA_USER_CM_CMD_LISTEN, &command, sizeof command, 0), EBADF);
  EXPECT_EQ(write_bytes(-1, RDMA_USER_CM_CMD_LISTEN, &command, sizeof command, 0), EBADF);
}

TEST_F(DispatchTest, HeadersAreChecked) {
  const int fd = opened_.fd.get();
  const Dispatcher dispatcher{fake_command_table(), files_};
  rdma_ucm_cmd_hdr header{RDMA_USER_CM_CMD_LISTEN, sizeof(rdma_ucm_listen), 0};
  for (size_t length = 0; length < sizeof header; ++length) {
    EXPECT_EQ(try_command(dispatcher, fd, &header, length)->error().value, EINVAL) << length;
  }
  // The header promises more than there is.
  EXPECT_EQ(try_command(dispatcher, fd, &header, sizeof header)->error().value, EINVAL);
  EXPECT_EQ(try_command(dispatcher, fd, page_.end(), 8)->error().value, EFAULT);
  EXPECT_EQ(try_command(dispatcher, fd, nullptr, 8)->error().value, EFAULT);
  rdma_ucm_listen command{1, 2};
  EXPECT_EQ(write_bytes(fd, WriteEvent::kNumber + 1, &command, sizeof command, 0), EINVAL);
  EXPECT_EQ(write_bytes(fd, UINT32_MAX, &command, sizeof command, 0), EINVAL);
  EXPECT_EQ(
      write_bytes(fd, RDMA_USER_CM_CMD_LISTEN, &command, sizeof command, 0, sizeof command + 1),
      EINVAL);
  EXPECT_TRUE(fake_.calls.empty());
}

TEST_F(DispatchTest, ACommandThatIsNotReadableToItsEndIsAFault) {
  rdma_ucm_cmd_hdr header{RDMA_USER_CM_CMD_LISTEN, sizeof(rdma_ucm_listen), 0};
  uint8_t* at = page_.end() - sizeof header;
  std::memcpy(at, &header, sizeof header);
  auto result = try_command({fake_command_table(), files_}, opened_.fd.get(), at,
                            sizeof header + sizeof(rdma_ucm_listen));
  EXPECT_EQ(result->error().value, EFAULT);
  EXPECT_TRUE(fake_.calls.empty());
}

TEST_F(DispatchTest, GetOptionIsNotCarriedOut) {
  uint8_t command[64] = {};
  EXPECT_EQ(write(RDMA_USER_CM_CMD_GET_OPTION, command), ENOSYS);
}

struct Length {
  uint32_t number;
  size_t least_in;
  size_t least_out;
};

constexpr Length kLengths[] = {
    {RDMA_USER_CM_CMD_CREATE_ID, 24, 4},     {RDMA_USER_CM_CMD_DESTROY_ID, 16, 4},
    {RDMA_USER_CM_CMD_BIND_IP, 40, 0},       {RDMA_USER_CM_CMD_RESOLVE_IP, 64, 0},
    {RDMA_USER_CM_CMD_RESOLVE_ROUTE, 8, 0},  {RDMA_USER_CM_CMD_QUERY_ROUTE, 16, 200},
    {RDMA_USER_CM_CMD_CONNECT, 280, 0},      {RDMA_USER_CM_CMD_LISTEN, 8, 0},
    {RDMA_USER_CM_CMD_ACCEPT, 288, 0},       {RDMA_USER_CM_CMD_REJECT, 264, 0},
    {RDMA_USER_CM_CMD_DISCONNECT, 4, 0},     {RDMA_USER_CM_CMD_INIT_QP_ATTR, 16, 144},
    {RDMA_USER_CM_CMD_GET_EVENT, 8, 324},    {RDMA_USER_CM_CMD_SET_OPTION, 24, 0},
    {RDMA_USER_CM_CMD_NOTIFY, 8, 0},         {RDMA_USER_CM_CMD_JOIN_IP_MCAST, 48, 4},
    {RDMA_USER_CM_CMD_LEAVE_MCAST, 16, 4},   {RDMA_USER_CM_CMD_MIGRATE_ID, 16, 4},
    {RDMA_USER_CM_CMD_QUERY, 16, 272},       {RDMA_USER_CM_CMD_BIND, 136, 0},
    {RDMA_USER_CM_CMD_RESOLVE_ADDR, 272, 0}, {RDMA_USER_CM_CMD_JOIN_MCAST, 152, 4},
};

TEST_F(DispatchTest, EachCommandTooShortOrWithoutRoomForItsResponseIsRefused) {
  const uint8_t zeros[400] = {};
  for (const Length& length : kLengths) {
    const int fd = opened_.fd.get();
    for (size_t in = 0; in < length.least_in; ++in) {
      // The buffer is long enough; the header's length is what counts.
      EXPECT_EQ(write_bytes(fd, length.number, zeros, sizeof zeros, 400, in), EINVAL)
          << length.number << " " << in;
    }
    for (size_t out = 0; out < length.least_out; ++out) {
      EXPECT_EQ(write_bytes(fd, length.number, zeros, length.least_in, out), ENOSPC)
          << length.number << " " << out;
    }
  }
  EXPECT_TRUE(fake_.calls.empty());
}

TEST_F(DispatchTest, EachCommandOfAnyLengthAndContentIsSurvived) {
  std::vector<uint8_t> bytes(4096);
  for (int fill : {0x00, 0x01, 0x7f, 0xff}) {
    std::memset(bytes.data(), fill, bytes.size());
    for (const Length& length : kLengths) {
      for (size_t in = 0; in < bytes.size(); in = in * 3 / 2 + 1) {
        (void)write_bytes(opened_.fd.get(), length.number, bytes.data(), in, 65535);
      }
    }
  }
}

TEST_F(DispatchTest, ErrorsAreTheCommands) {
  fake_.fails_with = ENOENT;
  EXPECT_EQ(write(RDMA_USER_CM_CMD_LISTEN, rdma_ucm_listen{1, 2}), ENOENT);
  rdma_ucm_destroy_id_resp response{};
  EXPECT_EQ(ask(RDMA_USER_CM_CMD_DESTROY_ID, about<rdma_ucm_destroy_id>(1), response), ENOENT);
  // Only an event may be waited for.
  fake_.fails_with = EAGAIN;
  EXPECT_EQ(write(RDMA_USER_CM_CMD_LISTEN, rdma_ucm_listen{1, 2}), EAGAIN);
}

TEST_F(DispatchTest, IdsAreMadeAndDestroyed) {
  rdma_ucm_create_id create{};
  create.uid = 1234;
  create.ps = RDMA_PS_TCP;
  create.qp_type = IBV_QPT_RC;
  rdma_ucm_create_id_resp made{};
  EXPECT_EQ(ask(RDMA_USER_CM_CMD_CREATE_ID, create, made), 0);
  EXPECT_EQ(made.id, 5u);
  rdma_ucm_destroy_id_resp destroyed{};
  EXPECT_EQ(ask(RDMA_USER_CM_CMD_DESTROY_ID, about<rdma_ucm_destroy_id>(5), destroyed), 0);
  EXPECT_EQ(destroyed.events_reported, 6u);
  EXPECT_EQ(fake_.calls, (Calls{"create_id 1234 262 2", "destroy_id 5"}));
}

TEST_F(DispatchTest, AnIdThatCannotBeToldIsDestroyed) {
  rdma_ucm_create_id create{};
  create.response = page_.bad_address();
  EXPECT_EQ(write(RDMA_USER_CM_CMD_CREATE_ID, create, sizeof(rdma_ucm_create_id_resp)), EFAULT);
  EXPECT_EQ(fake_.calls, (Calls{"create_id 0 0 0", "destroy_id 5"}));
}

TEST_F(DispatchTest, TheResponseIsNoLongerThanItsRoom) {
  struct {
    rdma_ucm_create_id_resp response;
    uint32_t after;
  } memory{{0}, 0x5a5a5a5a};
  rdma_ucm_create_id create{};
  create.response = reinterpret_cast<uint64_t>(&memory);
  EXPECT_EQ(write(RDMA_USER_CM_CMD_CREATE_ID, create, 8), 0);
  EXPECT_EQ(memory.response.id, 5u);
  EXPECT_EQ(memory.after, 0x5a5a5a5au);
}

TEST_F(DispatchTest, BindTakesAddressesOfTheirFamilysLength) {
  auto command = about<rdma_ucm_bind>(3);
  put(command.addr, ipv4());
  command.addr_size = sizeof(sockaddr_in);
  EXPECT_EQ(write(RDMA_USER_CM_CMD_BIND, command), 0);
  put(command.addr, ipv6());
  command.addr_size = sizeof(sockaddr_in6);
  EXPECT_EQ(write(RDMA_USER_CM_CMD_BIND, command), 0);
  command.addr.ss_family = kAfIb;
  command.addr_size = sizeof(SockaddrIb);
  EXPECT_EQ(write(RDMA_USER_CM_CMD_BIND, command), 0);
  EXPECT_EQ(fake_.calls,
            (Calls{"bind_address 3 2 16", "bind_address 3 10 28", "bind_address 3 27 48"}));
  for (int size : {0, 16, 47, 49, 128, 65535}) {
    command.addr_size = static_cast<uint16_t>(size);
    EXPECT_EQ(write(RDMA_USER_CM_CMD_BIND, command), EINVAL) << size;
  }
  command.addr_size = sizeof(SockaddrIb);
  command.reserved = 1;
  EXPECT_EQ(write(RDMA_USER_CM_CMD_BIND, command), EINVAL);
  command.reserved = 0;
  command.addr.ss_family = AF_UNIX;
  EXPECT_EQ(write(RDMA_USER_CM_CMD_BIND, command), EINVAL);
  EXPECT_EQ(fake_.calls.size(), 3u);
}

TEST_F(DispatchTest, BindIpIsBind) {
  auto command = about<rdma_ucm_bind_ip>(3);
  put(command.addr, ipv4());
  EXPECT_EQ(write(RDMA_USER_CM_CMD_BIND_IP, command), 0);
  EXPECT_EQ(reinterpret_cast<const sockaddr_in&>(fake_.source).sin_addr.s_addr, 0x01020304u);
  command.addr = ipv6();
  EXPECT_EQ(write(RDMA_USER_CM_CMD_BIND_IP, command), 0);
  EXPECT_EQ(fake_.calls, (Calls{"bind_address 3 2 16", "bind_address 3 10 28"}));
  // An InfiniBand address does not fit.
  command.addr.sin6_family = kAfIb;
  EXPECT_EQ(write(RDMA_USER_CM_CMD_BIND_IP, command), EINVAL);
  command.addr.sin6_family = AF_UNSPEC;
  EXPECT_EQ(write(RDMA_USER_CM_CMD_BIND_IP, command), EINVAL);
}

TEST_F(DispatchTest, ResolveAddressMayHaveNoSource) {
  auto command = about<rdma_ucm_resolve_addr>(3);
  command.timeout_ms = 2000;
  put(command.dst_addr, ipv4());
  command.dst_size = sizeof(sockaddr_in);
  put(command.src_addr, ipv4());  // not looked at
  EXPECT_EQ(write(RDMA_USER_CM_CMD_RESOLVE_ADDR, command), 0);
  command.src_size = sizeof(sockaddr_in);
  EXPECT_EQ(write(RDMA_USER_CM_CMD_RESOLVE_ADDR, command), 0);
  EXPECT_EQ(fake_.calls,
            (Calls{"resolve_address 3 2000 0 2 16", "resolve_address 3 2000 16 2 16"}));
  command.src_size = sizeof(sockaddr_in6);
  EXPECT_EQ(write(RDMA_USER_CM_CMD_RESOLVE_ADDR, command), EINVAL);
  command.src_size = 0;
  command.dst_size = 0;
  EXPECT_EQ(write(RDMA_USER_CM_CMD_RESOLVE_ADDR, command), EINVAL);
  command.dst_addr.ss_family = AF_UNSPEC;
  EXPECT_EQ(write(RDMA_USER_CM_CMD_RESOLVE_ADDR, command), EINVAL);
}

TEST_F(DispatchTest, ResolveIpIsResolveAddress) {
  auto command = about<rdma_ucm_resolve_ip>(3);
  command.timeout_ms = 7;
  command.dst_addr = ipv6();
  EXPECT_EQ(write(RDMA_USER_CM_CMD_RESOLVE_IP, command), 0);
  put(command.src_addr, ipv4());
  EXPECT_EQ(write(RDMA_USER_CM_CMD_RESOLVE_IP, command), 0);
  EXPECT_EQ(fake_.calls, (Calls{"resolve_address 3 7 0 10 28", "resolve_address 3 7 16 10 28"}));
  command.src_addr.sin6_family = AF_UNIX;
  EXPECT_EQ(write(RDMA_USER_CM_CMD_RESOLVE_IP, command), EINVAL);
}

TEST_F(DispatchTest, QueriesAnswer) {
  rdma_ucm_query_route_resp route{};
  EXPECT_EQ(ask(RDMA_USER_CM_CMD_QUERY_ROUTE, about<rdma_ucm_query>(3), route), 0);
  EXPECT_EQ(route.num_paths, 1u);
  EXPECT_EQ(route.ibdev_index, 77u);
  auto query = about<rdma_ucm_query>(3);
  rdma_ucm_query_addr_resp addresses{};
  EXPECT_EQ(ask(RDMA_USER_CM_CMD_QUERY, query, addresses), 0);
  EXPECT_EQ(addresses.node_guid, 10u);
  query.option = RDMA_USER_CM_QUERY_GID;
  EXPECT_EQ(ask(RDMA_USER_CM_CMD_QUERY, query, addresses), 0);
  EXPECT_EQ(addresses.node_guid, 11u);
  EXPECT_EQ(fake_.calls, (Calls{"query_route 3", "query_address 3", "query_gid 3"}));
  query.option = RDMA_USER_CM_QUERY_GID + 1;
  EXPECT_EQ(ask(RDMA_USER_CM_CMD_QUERY, query, addresses), ENOSYS);
}

TEST_F(DispatchTest, OlderQueriesHaveNoRoomForTheDevicesIndex) {
  rdma_ucm_query_addr_resp addresses{};
  addresses.ibdev_index = 5;
  auto query = about<rdma_ucm_query>(3);
  query.response = reinterpret_cast<uint64_t>(&addresses);
  EXPECT_EQ(write(RDMA_USER_CM_CMD_QUERY, query, 272), 0);
  EXPECT_EQ(addresses.node_guid, 10u);
  EXPECT_EQ(addresses.ibdev_index, 5u);
}

TEST_F(DispatchTest, QueryPathAnswersWithAsManyAsFit) {
  struct {
    uint32_t count;
    uint32_t reserved;
    ib_path_rec_data paths[3];
  } response{};
  fake_.paths = 3;
  auto query = about<rdma_ucm_query>(3);
  query.option = RDMA_USER_CM_QUERY_PATH;
  query.response = reinterpret_cast<uint64_t>(&response);
  EXPECT_EQ(write(RDMA_USER_CM_CMD_QUERY, query, 7), ENOSPC);
  EXPECT_EQ(write(RDMA_USER_CM_CMD_QUERY, query, 8 + 2 * 72 + 71), 0);
  EXPECT_EQ(response.count, 3u);
  EXPECT_EQ(response.paths[1].flags, 2u);
  EXPECT_EQ(response.paths[2].flags, 0u);
  EXPECT_EQ(write(RDMA_USER_CM_CMD_QUERY, query, sizeof response), 0);
  EXPECT_EQ(response.paths[2].flags, 3u);
}

TEST_F(DispatchTest, OlderLayoutsOfConnectAndAcceptHaveNoEce) {
  auto connect = about<rdma_ucm_connect>(3);
  connect.conn_param.valid = 1;
  connect.conn_param.qp_num = 17;
  connect.ece.vendor_id = 4;
  EXPECT_EQ(write(RDMA_USER_CM_CMD_CONNECT, connect), 0);
  EXPECT_EQ(fake_.ece.vendor_id, 4u);
  EXPECT_EQ(write_bytes(opened_.fd.get(), RDMA_USER_CM_CMD_CONNECT, &connect, 280, 0), 0);
  EXPECT_EQ(fake_.ece.vendor_id, 0u);
  EXPECT_EQ(fake_.parameters.qp_num, 17u);
  connect.conn_param.valid = 0;
  EXPECT_EQ(write(RDMA_USER_CM_CMD_CONNECT, connect), EINVAL);

  auto accept = about<rdma_ucm_accept>(4);
  accept.uid = 40;
  accept.ece.attr_mod = 6;
  EXPECT_EQ(write(RDMA_USER_CM_CMD_ACCEPT, accept), 0);
  EXPECT_EQ(fake_.ece.attr_mod, 6u);
  EXPECT_EQ(write_bytes(opened_.fd.get(), RDMA_USER_CM_CMD_ACCEPT, &accept, 288, 0), 0);
  EXPECT_EQ(fake_.ece.attr_mod, 0u);
  EXPECT_EQ(fake_.calls, (Calls{"connect 3", "connect 3", "accept 4 40", "accept 4 40"}));
}

TEST_F(DispatchTest, RejectionsHaveAConsumersReason) {
  auto reject = about<rdma_ucm_reject>(3);
  reject.private_data_len = 9;
  EXPECT_EQ(write(RDMA_USER_CM_CMD_REJECT, reject), 0);
  reject.reason = 35;
  EXPECT_EQ(write(RDMA_USER_CM_CMD_REJECT, reject), 0);
  EXPECT_EQ(fake_.calls, (Calls{"reject 3 28 9", "reject 3 35 9"}));
  reject.reason = 8;
  EXPECT_EQ(write(RDMA_USER_CM_CMD_REJECT, reject), EINVAL);
}

TEST_F(DispatchTest, ShortCommandsReachTheirCalls) {
  EXPECT_EQ(write(RDMA_USER_CM_CMD_LISTEN, rdma_ucm_listen{3, 8}), 0);
  EXPECT_EQ(write(RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{3, 100}), 0);
  EXPECT_EQ(write(RDMA_USER_CM_CMD_DISCONNECT, rdma_ucm_disconnect{3}), 0);
  EXPECT_EQ(write(RDMA_USER_CM_CMD_NOTIFY, rdma_ucm_notify{3, IBV_EVENT_COMM_EST}), 0);
  auto init = about<rdma_ucm_init_qp_attr>(3);
  init.qp_state = IBV_QPS_RTR;
  ib_uverbs_qp_attr attributes{};
  EXPECT_EQ(ask(RDMA_USER_CM_CMD_INIT_QP_ATTR, init, attributes), 0);
  EXPECT_EQ(attributes.qp_attr_mask, 3u);
  EXPECT_EQ(fake_.calls, (Calls{"listen 3 8", "resolve_route 3 100", "disconnect 3", "notify 3 4",
                                "init_qp_attr 3 2"}));
  init.qp_state = IBV_QPS_ERR + 1;
  EXPECT_EQ(ask(RDMA_USER_CM_CMD_INIT_QP_ATTR, init, attributes), EINVAL);
}

TEST_F(DispatchTest, EventsAreWritten) {
  // librdmacm's command is longer: it has room for the parameters of all events.
  uint8_t command[328] = {};
  const WriteEvent begin{3, 0, 18, 5, 1234567890123};
  std::memcpy(command, &begin, sizeof begin);
  EXPECT_EQ(write(WriteEvent::kNumber, command), 0);
  EXPECT_EQ(fake_.calls, (Calls{"write_event 3 18 5 1234567890123"}));
  EXPECT_EQ(write_bytes(opened_.fd.get(), WriteEvent::kNumber, command, 16, 0), EINVAL);
  EXPECT_EQ(write(WriteEvent::kNumber - 1, command), ENOSYS);
}

TEST_F(DispatchTest, OptionsAreRead) {
  const uint8_t value[3] = {1, 2, 3};
  auto option = about<rdma_ucm_set_option>(3);
  option.optval = reinterpret_cast<uint64_t>(value);
  option.optlen = sizeof value;
  option.optname = RDMA_OPTION_ID_AFONLY;
  EXPECT_EQ(write(RDMA_USER_CM_CMD_SET_OPTION, option), 0);
  EXPECT_EQ(fake_.option, (std::vector<uint8_t>{1, 2, 3}));
  option.optlen = 0;
  EXPECT_EQ(write(RDMA_USER_CM_CMD_SET_OPTION, option), 0);
  EXPECT_EQ(fake_.calls, (Calls{"set_option 3 0 2 3", "set_option 3 0 2 0"}));
  option.optlen = 4097;
  EXPECT_EQ(write(RDMA_USER_CM_CMD_SET_OPTION, option), EINVAL);
  option.optlen = 1;
  option.optval = page_.bad_address();
  EXPECT_EQ(write(RDMA_USER_CM_CMD_SET_OPTION, option), EFAULT);
}

TEST_F(DispatchTest, GroupsAreJoinedAndLeft) {
  auto join = about<rdma_ucm_join_mcast>(3);
  join.uid = 30;
  join.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
  put(join.addr, ipv6());
  join.addr_size = sizeof(sockaddr_in6);
  rdma_ucm_create_id_resp joined{};
  EXPECT_EQ(ask(RDMA_USER_CM_CMD_JOIN_MCAST, join, joined), 0);
  EXPECT_EQ(joined.id, 8u);
  auto older = about<rdma_ucm_join_ip_mcast>(3);
  older.uid = 31;
  put(older.addr, ipv4());
  EXPECT_EQ(ask(RDMA_USER_CM_CMD_JOIN_IP_MCAST, older, joined), 0);
  rdma_ucm_destroy_id_resp left{};
  EXPECT_EQ(ask(RDMA_USER_CM_CMD_LEAVE_MCAST, about<rdma_ucm_destroy_id>(8), left), 0);
  EXPECT_EQ(left.events_reported, 9u);
  EXPECT_EQ(fake_.calls, (Calls{"join_multicast 3 30 10 28 1", "join_multicast 3 31 2 16 0",
                                "leave_multicast 8"}));
  join.join_flags = RDMA_MC_JOIN_FLAG_RESERVED;
  EXPECT_EQ(ask(RDMA_USER_CM_CMD_JOIN_MCAST, join, joined), EINVAL);
  join.join_flags = 0;
  join.addr_size = 16;
  EXPECT_EQ(ask(RDMA_USER_CM_CMD_JOIN_MCAST, join, joined), EINVAL);
  older.addr.sin6_family = AF_UNSPEC;
  EXPECT_EQ(ask(RDMA_USER_CM_CMD_JOIN_IP_MCAST, older, joined), EINVAL);
}

TEST_F(DispatchTest, AMembershipThatCannotBeToldIsLeft) {
  auto join = about<rdma_ucm_join_ip_mcast>(3);
  put(join.addr, ipv4());
  join.response = page_.bad_address();
  EXPECT_EQ(write(RDMA_USER_CM_CMD_JOIN_IP_MCAST, join, 4), EFAULT);
  EXPECT_EQ(fake_.calls, (Calls{"join_multicast 3 0 2 16 0", "leave_multicast 8"}));
}

TEST_F(DispatchTest, MigrationMovesReadiness) {
  auto old = open_file();
  CmFileEvent event;
  event.owner = 3;
  ASSERT_TRUE(old.file->post(event));
  auto migrate = about<rdma_ucm_migrate_id>(3);
  migrate.fd = static_cast<uint32_t>(old.fd.get());
  rdma_ucm_migrate_resp response{};
  EXPECT_EQ(ask(RDMA_USER_CM_CMD_MIGRATE_ID, migrate, response), 0);
  EXPECT_EQ(response.events_reported, 4u);
  EXPECT_FALSE(is_readable(old.fd));
  EXPECT_TRUE(is_readable(opened_.fd));
  migrate.fd = static_cast<uint32_t>(-1);
  EXPECT_EQ(ask(RDMA_USER_CM_CMD_MIGRATE_ID, migrate, response), EINVAL);
  migrate.fd = STDIN_FILENO;
  EXPECT_EQ(ask(RDMA_USER_CM_CMD_MIGRATE_ID, migrate, response), EINVAL);
}

TEST_F(DispatchTest, EventsAreReadInOrder) {
  post(1);
  post(2);
  rdma_ucm_event_resp response{};
  EXPECT_EQ(ask(RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{}, response), 0);
  EXPECT_EQ(response.status, 1u);
  EXPECT_EQ(response.ece.vendor_id, 99u);
  EXPECT_TRUE(is_readable(opened_.fd));
  EXPECT_EQ(ask(RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{}, response), 0);
  EXPECT_EQ(response.status, 2u);
  EXPECT_FALSE(is_readable(opened_.fd));
  EXPECT_EQ(ask(RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{}, response), -1);
  EXPECT_EQ(CmFile::wait(opened_.fd.get()).error().value, EAGAIN);
}

TEST_F(DispatchTest, OlderEventsHaveNoEce) {
  post(1);
  rdma_ucm_event_resp response{};
  rdma_ucm_get_event command{reinterpret_cast<uint64_t>(&response)};
  EXPECT_EQ(write(RDMA_USER_CM_CMD_GET_EVENT, command, 324), 0);
  EXPECT_EQ(response.status, 1u);
  EXPECT_EQ(response.ece.vendor_id, 0u);
}

TEST_F(DispatchTest, AnEventThatCannotBeToldIsKept) {
  post(1);
  rdma_ucm_get_event command{page_.bad_address() - 100};
  EXPECT_EQ(write(RDMA_USER_CM_CMD_GET_EVENT, command, sizeof(rdma_ucm_event_resp)), EFAULT);
  EXPECT_EQ(opened_.file->waiting(), 1u);
  EXPECT_TRUE(is_readable(opened_.fd));
}

TEST_F(DispatchTest, ManyReadersGetEachEventOnce) {
  constexpr uint32_t kEvents = 2000;
  constexpr int kReaders = 4;
  ASSERT_EQ(fcntl(opened_.fd.get(), F_SETFL, 0), 0);
  std::atomic<uint64_t> sum = 0;
  std::atomic<uint32_t> read = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < kReaders; ++i) {
    readers.emplace_back([&] {
      for (;;) {
        rdma_ucm_event_resp response{};
        const int result = ask(RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{}, response);
        if (result == -1) {
          if (!CmFile::wait(opened_.fd.get())) return;
          continue;
        }
        if (result != 0 || response.status == UINT32_MAX) return;
        sum += response.status;
        ++read;
      }
    });
  }
  for (uint32_t i = 1; i <= kEvents; ++i) post(i);
  for (int i = 0; i < kReaders; ++i) post(UINT32_MAX);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(read, kEvents);
  EXPECT_EQ(sum, uint64_t{kEvents} * (kEvents + 1) / 2);
  EXPECT_FALSE(is_readable(opened_.fd));
}

}  // namespace
}  // namespace urxe::cm
