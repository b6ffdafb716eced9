// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/errors.h"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string_view>

#include "packet/host/stderr_line.h"
#include "provider/devices/preloaded.h"
#include "provider/observation/short_text.h"

namespace urxe {
namespace {

// Kinds of limits.
constexpr unsigned kDescriptors = 1U << 0;
constexpr unsigned kHostsDescriptors = 1U << 1;
constexpr unsigned kMemory = 1U << 2;
constexpr unsigned kThreads = 1U << 3;
constexpr unsigned kSpace = 1U << 4;

struct Limit {
  unsigned kind = 0;  ///< a bit; 0: no limit explains the error
  ShortText hint;     ///< what to do about it
};

bool is_finite(__rlimit_resource_t resource, rlim_t* value) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return false;
  *value = limit.rlim_cur;
  return limit.rlim_cur != RLIM_INFINITY;
}

/// Adds the limits of memory, if there are any, behind `before`: it may run out for other reasons.
/// False: there are none.
bool add_memory_limits(ShortText& hint, std::string_view before) {
  rlim_t value = 0;
  const bool data = is_finite(RLIMIT_DATA, &value);
  const bool all = is_finite(RLIMIT_AS, &value);
  if (!data && !all) return false;
  hint.add(before);
  if (data) hint.add("ulimit -d");
  if (all) hint.add(data ? ", ulimit -v" : "ulimit -v");
  return true;
}

// Nothing here allocates: memory may be what is short.
Limit limit_behind(int errno_value) {
  Limit limit;
  rlim_t value = 0;
  switch (errno_value) {
    case EMFILE:
      is_finite(RLIMIT_NOFILE, &value);
      limit.kind = kDescriptors;
      limit.hint.add_format("this process may have %llu open: raise the limit with ulimit -n",
                            static_cast<unsigned long long>(value));
      break;
    case ENFILE:
      limit.kind = kHostsDescriptors;
      limit.hint.add("the limit of the whole host, fs.file-max, is reached");
      break;
    case ENOMEM: {
      constexpr const char* kLittle =
          "this process may have too little memory: raise the limit with ";
      if (add_memory_limits(limit.hint, kLittle)) limit.kind = kMemory;
      break;
    }
    case EAGAIN:
      // A thread takes memory for its stack, and the kernel does not say which of the two is
      // scarce.
      limit.kind = kThreads;
      limit.hint.add(
          "there may be too few threads, or too little memory for one: raise the limit with ulimit "
          "-u");
      add_memory_limits(limit.hint, ", ");
      break;
    case ENOSPC:
      limit.kind = kSpace;
      limit.hint.add(
          "the file system with the directory of this user's urxe programs, mostly /dev/shm, is "
          "full: remove what is not needed there, or make it larger, for a container with "
          "--shm-size");
      break;
    default:
      break;
  }
  return limit;
}

constexpr uint32_t kFirstWithClaim = 5;

constinit std::atomic<unsigned> reported{0};  ///< kinds of limits

/// Whether the preloaded object has told of a lack of descriptors; from now on it does not.
bool was_told_by_presence(int errno_value) {
  const urxe_presence* const presence = find_presence(kFirstWithClaim);
  return presence != nullptr && presence->claim_lack(errno_value) == 0;
}

/// Whether nobody has told of the limit yet.
bool is_first(unsigned kind, int errno_value) {
  if ((reported.fetch_or(kind) & kind) != 0) return false;
  const bool is_shared = kind == kDescriptors || kind == kHostsDescriptors;
  return !is_shared || !was_told_by_presence(errno_value);
}

}  // namespace

void print_error(const std::string& text) noexcept {
  write_stderr_line({"urxe: ", text, "\n"});
}

void print_failure(const std::string& text, int errno_value) noexcept {
  const Limit limit = limit_behind(errno_value);
  if (limit.kind == 0) return print_error(text);
  const bool first = is_first(limit.kind, errno_value);
  const bool follows = limit.kind == kDescriptors || limit.kind == kHostsDescriptors;
  if (first || !follows) write_stderr_line({"urxe: ", text, " (", limit.hint.view(), ")\n"});
}

void report_lack(const char* what, int errno_value) noexcept {
  const int saved = errno;
  const Limit limit = limit_behind(errno_value);
  if (limit.kind != 0 && is_first(limit.kind, errno_value)) {
    write_stderr_line(
        {"urxe: cannot ", what, ": ", std::strerror(errno_value), " (", limit.hint.view(), ")\n"});
  }
  errno = saved;
}

}  // namespace urxe
