// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/read_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "packet/host/file_descriptor.h"

namespace urxe {

Expected<std::string, Errno> read_file(const std::string& path) {
  const FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return error(errno);
  std::string text;
  std::array<char, 4096> part;
  for (;;) {
    const ssize_t got = read(fd.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return error(errno);
    if (got == 0) return text;
    text.append(part.data(), static_cast<size_t>(got));
  }
}

}  // namespace urxe
