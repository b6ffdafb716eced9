// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/counter_sums.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "packet/host/file_descriptor.h"
#include "provider/devices/device_file.h"

namespace urxe {
namespace {

constexpr off_t kRowBytes = sizeof(CounterSums);

/// The row from which on the file may have data. Rows that no process has had are holes.
off_t next_row(int fd, off_t row) {
  const off_t data = lseek(fd, row * kRowBytes, SEEK_DATA);
  if (data >= 0) return data / kRowBytes;
  return errno == ENXIO ? static_cast<off_t>(kCounterRows) : row;
}

}  // namespace

std::optional<CounterSums> read_counter_sums(const std::string& tree, const std::string& device) {
  const std::string path = tree + "/devices/" + device + std::string(kCountersSuffix);
  const FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status {};
  if (!fd || fstat(fd.get(), &status) != 0) return std::nullopt;
  if (status.st_size < static_cast<off_t>(kCounterTableBytes)) return std::nullopt;
  CounterSums sums{};
  for (off_t row = next_row(fd.get(), 0); row < static_cast<off_t>(kCounterRows);
       row = next_row(fd.get(), row + 1)) {
    CounterSums cells;
    if (pread(fd.get(), cells.data(), sizeof cells, row * kRowBytes) != sizeof cells) {
      return std::nullopt;
    }
    for (size_t column = 0; column < kCounterColumns; ++column) sums[column] += cells[column];
  }
  return sums;
}

}  // namespace urxe
