// SPDX-License-Identifier: BSD-2-Clause
#include "provider/presence/counters.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#include "provider/presence/descriptors.h"
#include "provider/presence/next.h"

enum {
  kLongestText = 16,
  kLongestDevice = 128,
  kRowBytes = URXE_COUNTER_COLUMNS * 8,
  kTableBytes = URXE_COUNTER_ROWS * kRowBytes,
};

struct counter {
  unsigned column;
  char device[kLongestDevice];
};

/// Reads "@<column>" up to the end of the line.
static bool parse_column(const char* text, unsigned* column) {
  if (*text++ != '@') return false;
  *column = 0;
  const char* digits = text;
  while (*text >= '0' && *text <= '9' && *column < URXE_COUNTER_COLUMNS) {
    *column = *column * 10 + (unsigned)(*text++ - '0');
  }
  return text != digits && *text == '\n' && *column < URXE_COUNTER_COLUMNS;
}

/// Behind the last `name` in the text; NULL: it has none.
static const char* behind_last(const char* text, const char* name) {
  const char* found = NULL;
  for (const char* at = text; (at = strstr(at, name)) != NULL; ++at) found = at + strlen(name);
  return found;
}

/// Whose counter the file is: .../sys/devices/urxe/<address>/infiniband/<device>/...
static bool find_device(int fd, char device[kLongestDevice]) {
  static const char kBefore[] = "infiniband/";
  char path[PATH_MAX + 1];
  ssize_t path_length = urxe_read_path(fd, path);
  if (path_length < 0) return false;
  path[path_length] = '\0';
  const char* at = behind_last(path, "/sys/devices/urxe/");
  if (at == NULL || (at = strchr(at, '/')) == NULL) return false;
  if (strncmp(++at, kBefore, sizeof(kBefore) - 1) != 0) return false;
  at += sizeof(kBefore) - 1;
  size_t length = strcspn(at, "/");
  if (length == 0 || length >= kLongestDevice) return false;
  memcpy(device, at, length);
  device[length] = '\0';
  return true;
}

static bool name_table(const struct counter* counter, char path[PATH_MAX]) {
  static const char kBefore[] = "/devices/";
  static const char kAfter[] = ".counters";
  size_t device_length = strlen(counter->device);
  _Static_assert(URXE_LONGEST_TREE + sizeof(kBefore) + kLongestDevice + sizeof(kAfter) <= PATH_MAX,
                 "the path fits");
  char* at = path + urxe_reach_tree(path);
  memcpy(at, kBefore, sizeof(kBefore) - 1);
  at += sizeof(kBefore) - 1;
  memcpy(at, counter->device, device_length);
  memcpy(at + device_length, kAfter, sizeof(kAfter));
  return true;
}

/// The row from which on the file may have data. Rows that no process has had are holes. They are
/// not mapped, because that would take memory for them, which may not be there (SIGBUS).
static long next_row(int fd, long row) {
  off_t data = lseek(fd, row * kRowBytes, SEEK_DATA);
  if (data >= 0) return data / kRowBytes;
  return errno == ENXIO ? URXE_COUNTER_ROWS : row;
}

static bool sum_column(const struct counter* counter, unsigned long long* sum) {
  char path[PATH_MAX];
  if (!name_table(counter, path)) return false;
  int fd = URXE_NEXT(open)(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  struct stat status;
  bool whole = fstat(fd, &status) == 0 && status.st_size >= kTableBytes;
  *sum = 0;
  for (long row = 0; whole && row < URXE_COUNTER_ROWS; ++row) {
    row = next_row(fd, row);
    unsigned long long cell = 0;
    off_t at = row * kRowBytes + (off_t)counter->column * 8;
    whole = row >= URXE_COUNTER_ROWS || pread(fd, &cell, sizeof(cell), at) == sizeof(cell);
    *sum += cell;
  }
  close(fd);
  return whole;
}

/// The value in decimal and a newline, without a terminating zero. Returns the length.
static size_t format_value(unsigned long long value, char out[24]) {
  char digits[20];
  size_t count = 0;
  do {
    digits[count++] = (char)('0' + value % 10);
    value /= 10;
  } while (value != 0);
  size_t length = 0;
  while (count != 0) out[length++] = digits[--count];
  out[length++] = '\n';
  return length;
}

static int open_value(unsigned long long value, int flags) {
  unsigned memory_flags = MFD_ALLOW_SEALING | ((flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0u);
  int fd = memfd_create("urxe-counter", memory_flags);
  if (fd < 0) return -1;
  char text[24];
  size_t length = format_value(value, text);
  if (pwrite(fd, text, length, 0) != (ssize_t)length ||
      fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    close(fd);
    errno = EIO;
    return -1;
  }
  return fd;
}

/// As in sysfs for the attributes of an empty GID entry, the file can be opened, but read() fails
/// with EINVAL. An epoll descriptor is such a file.
static int open_unreadable(int flags) {
  return epoll_create1((flags & O_CLOEXEC) != 0 ? EPOLL_CLOEXEC : 0);
}

int urxe_finish_tree_open(int fd, int flags) {
  if (fd < 0) return fd;
  int saved_errno = errno;
  char text[kLongestText];
  ssize_t length = pread(fd, text, sizeof(text) - 1, 0);
  if (length < 0 && errno == EISDIR) urxe_fd_set_add(&urxe_directories, fd);
  errno = saved_errno;
  if (length <= 0) return fd;
  text[length] = '\0';
  if (text[0] == '!') {
    close(fd);
    return open_unreadable(flags);
  }
  struct counter counter;
  if (!parse_column(text, &counter.column)) return fd;
  unsigned long long sum = 0;
  bool summed = find_device(fd, counter.device) && sum_column(&counter, &sum);
  close(fd);
  if (!summed) {
    errno = EIO;
    return -1;
  }
  int value_fd = open_value(sum, flags);
  if (value_fd >= 0) errno = saved_errno;
  return value_fd;
}
