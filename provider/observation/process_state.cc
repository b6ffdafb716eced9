// SPDX-License-Identifier: BSD-2-Clause
#include "provider/observation/process_state.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "packet/host/file_descriptor.h"
#include "packet/host/network_identity.h"

namespace urxe {

std::optional<ProcessState> read_process_state(uint32_t pid) {
  char text[1024];
  std::snprintf(text, sizeof text, "/proc/%" PRIu32 "/stat", pid);
  const FileDescriptor file(open(text, O_RDONLY | O_CLOEXEC));
  const ssize_t length = file ? read(file.get(), text, sizeof text - 1) : -1;
  if (length <= 0) return std::nullopt;
  text[length] = '\0';
  // The name, in parentheses, may hold anything.
  const char* const name_end = std::strrchr(text, ')');
  ProcessState process;
  constexpr const char* kFields =
      " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64;
  if (name_end == nullptr ||
      std::sscanf(name_end + 1, kFields, &process.state, &process.started) != 2) {
    return std::nullopt;
  }
  return process;
}

uint64_t own_network_namespace() {
  const uint64_t cookie = network_cookie().value_or(0);
  return cookie != 0 ? cookie : network_namespace_number();
}

uint64_t own_pid_namespace() {
  struct stat status {};
  return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

}  // namespace urxe
