// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/errors.h"

#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <new>

#include "provider/presence/presence_abi.h"

namespace urxe {
namespace {

// Kinds of limits.
constexpr unsigned kDescriptors = 1U << 0;
constexpr unsigned kHostsDescriptors = 1U << 1;

struct Limit {
  unsigned kind = 0;  ///< a bit; 0: no limit explains the error
  std::string hint;   ///< what to do about it
};

bool is_finite(__rlimit_resource_t resource, rlim_t* value) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return false;
  *value = limit.rlim_cur;
  return limit.rlim_cur != RLIM_INFINITY;
}

/// The limits of memory, if there are any: it may run out for other reasons.
std::string memory_limits() {
  rlim_t value = 0;
  std::string names;
  if (is_finite(RLIMIT_DATA, &value)) names = "ulimit -d";
  if (is_finite(RLIMIT_AS, &value)) names += names.empty() ? "ulimit -v" : ", ulimit -v";
  return names;
}

Limit limit_of_memory() {
  const std::string names = memory_limits();
  if (names.empty()) return {};
  return {1U << 2, "this process may have too little memory: raise the limit with " + names};
}

/// A thread takes memory for its stack, and the kernel does not say which of the two is scarce.
Limit limit_of_threads() {
  const std::string memory = memory_limits();
  return {1U << 3,
          "there may be too few threads, or too little memory for one: raise the limit "
          "with ulimit -u" +
              (memory.empty() ? "" : ", " + memory)};
}

Limit limit_behind(int errno_value) {
  rlim_t value = 0;
  switch (errno_value) {
    case EMFILE:
      is_finite(RLIMIT_NOFILE, &value);
      return {kDescriptors, "this process may have " + std::to_string(value) +
                                " open: raise the limit with ulimit -n"};
    case ENFILE:
      return {kHostsDescriptors, "the limit of the whole host, fs.file-max, is reached"};
    case ENOMEM:
      return limit_of_memory();
    case EAGAIN:
      return limit_of_threads();
    default:
      return {};
  }
}

constexpr uint32_t kFirstWithClaim = 5;

constinit std::atomic<unsigned> reported{0};  ///< kinds of limits

/// Whether the preloaded object has told of a lack of descriptors; from now on it does not.
bool was_told_by_presence(int errno_value) {
  void* const symbol = dlsym(RTLD_DEFAULT, "urxe_presence_v1");
  if (symbol == nullptr) return false;
  const urxe_presence* presence = reinterpret_cast<urxe_presence_v1_function>(symbol)();
  return presence->version >= kFirstWithClaim && presence->claim_lack(errno_value) == 0;
}

/// Whether nobody has told of the limit yet.
bool is_first(unsigned kind, int errno_value) {
  if ((reported.fetch_or(kind) & kind) != 0) return false;
  const bool is_shared = kind == kDescriptors || kind == kHostsDescriptors;
  return !is_shared || !was_told_by_presence(errno_value);
}

}  // namespace

void print_error(const std::string& text) noexcept {
  const int saved = errno;
  char prefix[] = "urxe: ";
  char newline[] = "\n";
  iovec parts[] = {{prefix, sizeof prefix - 1},
                   {const_cast<char*>(text.data()), text.size()},
                   {newline, sizeof newline - 1}};
  // If stderr is closed there is nothing to be done.
  [[maybe_unused]] ssize_t written = writev(STDERR_FILENO, parts, 3);
  errno = saved;
}

void print_failure(const std::string& text, int errno_value) noexcept {
  try {
    const Limit limit = limit_behind(errno_value);
    if (limit.kind == 0) return print_error(text);
    const bool first = is_first(limit.kind, errno_value);
    const bool follows = limit.kind == kDescriptors || limit.kind == kHostsDescriptors;
    if (first || !follows) print_error(text + " (" + limit.hint + ")");
  } catch (const std::bad_alloc&) {
    print_error(text);
  }
}

void report_lack(const char* what, int errno_value) noexcept {
  const int saved = errno;
  try {
    const Limit limit = limit_behind(errno_value);
    if (limit.kind != 0 && is_first(limit.kind, errno_value)) {
      print_error(std::string("cannot ") + what + ": " + std::strerror(errno_value) + " (" +
                  limit.hint + ")");
    }
  } catch (const std::bad_alloc&) {
    // There is not even memory to say so.
  }
  errno = saved;
}

}  // namespace urxe
