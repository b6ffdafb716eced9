// SPDX-License-Identifier: BSD-2-Clause
#include "provider/netlink/install.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>
#include <exception>

#include "packet/host/uncancelled.h"
#include "provider/devices/device_tree.h"
#include "provider/devices/preloaded.h"
#include "provider/netlink/kernel.h"
#include "provider/netlink/program_socket.h"
#include "provider/netlink/requests.h"
#include "provider/runtime/errors.h"
#include "provider/runtime/memory/guarded_access.h"

namespace urxe::netlink {
namespace {

/// No request is longer.
constexpr size_t kLongestRequest = 65536;
constexpr size_t kMostPieces = 1024;

Sources sources() {
  const std::string tree = device_tree();
  return {read_devices(tree),
          [tree](const std::string& device) { return read_counter_sums(tree, device); },
          [] { return observe(Whose::kThisNamespace); }};
}

/// Copies memory of the program. EFAULT: it cannot be read, and this system lets that be found out.
Expected<void, Errno> read_program(void* to, const void* from, size_t size) {
  if (size == 0) return {};
  if (guarded_access_works()) {
    if (!guarded_access().read(to, from, size)) return error(EFAULT);
  } else {
    std::memcpy(to, from, size);
  }
  return {};
}

Expected<Bytes, Errno> copy_message(const msghdr* message) {
  msghdr copy{};
  if (auto read = read_program(&copy, message, sizeof copy); !read) return error(EFAULT);
  if (copy.msg_iovlen > kMostPieces) return error(EMSGSIZE);
  std::vector<iovec> pieces(copy.msg_iovlen);
  if (!read_program(pieces.data(), copy.msg_iov, pieces.size() * sizeof(iovec))) {
    return error(EFAULT);
  }
  Bytes bytes;
  for (const iovec& piece : pieces) {
    if (piece.iov_len > kLongestRequest - bytes.size()) return error(EMSGSIZE);
    const size_t end = bytes.size();
    bytes.resize(end + piece.iov_len);
    if (!read_program(bytes.data() + end, piece.iov_base, piece.iov_len)) return error(EFAULT);
  }
  return bytes;
}

bool is_about_devices(const Request& request) {
  return RDMA_NL_GET_CLIENT(request.header.nlmsg_type) == RDMA_NL_NLDEV &&
         request.has_flag(NLM_F_REQUEST);
}

/// The program's socket, as the answers need to know it.
struct Program {
  int fd = -1;
  uint32_t port = 0;
};

Ending ending_for(const Program& program, const Answer& answer) {
  return {program.port, answer.errno_value, answer.explanation,
          has_option(program.fd, NETLINK_CAP_ACK), has_option(program.fd, NETLINK_EXT_ACK)};
}

void append(std::vector<Bytes>& all, std::vector<Bytes> more) {
  for (Bytes& message : more) all.push_back(std::move(message));
}

void add_ours(const Program& program, const Request& request, std::vector<Bytes>& all) {
  Answer ours = answer(request, program.port, sources());
  const Ending ending = ending_for(program, ours);
  append(all, std::move(ours.messages));
  const bool failed = ending.errno_value != 0;
  if (request.is_dump() && !failed) {
    all.push_back(end_dump(request, program.port));
  } else if (failed || request.has_flag(NLM_F_ACK)) {
    all.push_back(acknowledge(request, ending));
  }
}

/// The kernel's answer, and in a dump of all devices ours before its end.
void add_both(const Program& program, const Request& request, KernelAnswer kernels,
              std::vector<Bytes>& all) {
  append(all, std::move(kernels.messages));
  if (request.is_dump() && is_for_all_devices(request) && !kernels.is_error) {
    append(all, answer(request, program.port, sources()).messages);
  }
  if (!kernels.end.empty()) all.push_back(std::move(kernels.end));
}

void add_answer(const Program& program, const Request& request, std::vector<Bytes>& all) {
  if (is_about_devices(request) && !is_for_our_device(request)) {
    if (auto kernels = ask_kernel(program.fd, program.port, request)) {
      add_both(program, request, *std::move(kernels), all);
      return;
    }
  }
  if (is_about_devices(request)) {
    add_ours(program, request, all);
  } else if (request.header.nlmsg_type >= NLMSG_MIN_TYPE && request.has_flag(NLM_F_REQUEST)) {
    Answer refused = Answer::failure(EINVAL, "urxe answers requests of RDMA_NL_NLDEV only");
    all.push_back(acknowledge(request, ending_for(program, refused)));
  } else if (request.has_flag(NLM_F_ACK)) {
    all.push_back(acknowledge(request, ending_for(program, {})));
  }
}

Expected<ssize_t, Errno> try_send(int fd, const msghdr* message) {
  const auto bytes = copy_message(message);
  if (!bytes) return error(bytes.error().value);
  const auto port = port_of(fd);
  if (!port) return error(port.error().value);
  std::vector<Bytes> answers;
  std::span<const uint8_t> rest(*bytes);
  while (const auto request = take_request(rest)) add_answer({fd, *port}, *request, answers);
  if (auto delivered = deliver(fd, *port, std::move(answers)); !delivered) {
    return error(delivered.error().value);
  }
  return static_cast<ssize_t>(bytes->size());
}

ssize_t send_hook(int fd, const msghdr* message) noexcept {
  const Uncancelled uncancelled;
  try {
    const auto sent = try_send(fd, message);
    return sent ? *sent : static_cast<ssize_t>(fail(sent.error().value));
  } catch (const std::exception&) {  // no memory, or no room for so much
    return fail(ENOMEM);
  }
}

}  // namespace

void install() noexcept {
  constexpr uint32_t kFirstWithNetlink = 6;
  const urxe_presence* const presence = find_presence(kFirstWithNetlink);
  if (presence != nullptr) presence->set_netlink_hook(send_hook);
}

}  // namespace urxe::netlink
