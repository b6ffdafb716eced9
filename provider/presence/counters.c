// SPDX-License-Identifier: BSD-2-Clause
#include "provider/presence/counters.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#include "provider/presence/descriptors.h"
#include "provider/presence/next.h"
#include "provider/presence/read.h"

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

/// The file that a program reads has this name, the column, "@" and the device's name.
static const char kName[] = "urxe-counter-";
enum { kLongestName = sizeof(kName) + 4 + kLongestDevice };

struct urxe_fd_set urxe_counters;

/// Reads a column and the `end` behind it. Returns what comes next; NULL: they are not there.
static const char* parse_column(const char* text, char end, unsigned* column) {
  *column = 0;
  const char* digits = text;
  while (*text >= '0' && *text <= '9' && *column < URXE_COUNTER_COLUMNS) {
    *column = *column * 10 + (unsigned)(*text++ - '0');
  }
  return text != digits && *text == end && *column < URXE_COUNTER_COLUMNS ? text + 1 : NULL;
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

static bool write_value(int fd, unsigned long long value) {
  char text[24];
  size_t length = format_value(value, text);
  return pwrite(fd, text, length, 0) == (ssize_t)length && ftruncate(fd, (off_t)length) == 0;
}

static void name_value(const struct counter* counter, char out[kLongestName]) {
  size_t length = sizeof(kName) - 1;
  memcpy(out, kName, length);
  length += format_value(counter->column, out + length);
  out[length - 1] = '@';
  memcpy(out + length, counter->device, strlen(counter->device) + 1);
}

/// The same file, by a descriptor of its own.
static int open_again(int fd, int flags) {
  char path[32];
  (void)urxe_name_descriptor(fd, path);
  return URXE_NEXT(open)(path, flags);
}

static int open_value(const struct counter* counter, unsigned long long value, int flags) {
  char name[kLongestName];
  name_value(counter, name);
  int written = memfd_create(name, MFD_CLOEXEC);
  if (written < 0) return -1;
  int fd = write_value(written, value) ? open_again(written, O_RDONLY | (flags & O_CLOEXEC)) : -1;
  close(written);
  if (fd < 0) {
    errno = EIO;
    return -1;
  }
  urxe_note_counter(fd);
  return fd;
}

void urxe_note_counter(int fd) {
  urxe_fd_set_add(&urxe_counters, fd);
  urxe_watch_reads(fd);
}

/// Which counter the descriptor is of. False: of none.
static bool find_counter(int fd, struct counter* counter) {
  static const char kBefore[] = "/memfd:";
  static const char kAfter[] = " (deleted)";
  char path[PATH_MAX + 1];
  ssize_t length = urxe_read_path(fd, path);
  if (length < 0) return false;
  path[length] = '\0';
  if (strncmp(path, kBefore, sizeof(kBefore) - 1) != 0) return false;
  const char* name = path + sizeof(kBefore) - 1;
  if (strncmp(name, kName, sizeof(kName) - 1) != 0) return false;
  const char* device = parse_column(name + sizeof(kName) - 1, '@', &counter->column);
  size_t rest = device == NULL ? 0 : strlen(device);
  if (rest < sizeof(kAfter) || rest - (sizeof(kAfter) - 1) >= kLongestDevice) return false;
  rest -= sizeof(kAfter) - 1;
  if (strcmp(device + rest, kAfter) != 0) return false;
  memcpy(counter->device, device, rest);
  counter->device[rest] = '\0';
  return true;
}

bool urxe_renew_counter(int fd, off_t at) {
  struct counter counter;
  if (!find_counter(fd, &counter)) {
    urxe_fd_set_remove(&urxe_counters, fd);  // it was closed
    return false;
  }
  int saved_errno = errno;
  unsigned long long sum = 0;
  if (at < 0) at = lseek(fd, 0, SEEK_CUR);
  int written = at == 0 && sum_column(&counter, &sum) ? open_again(fd, O_WRONLY | O_CLOEXEC) : -1;
  if (written >= 0) {
    (void)write_value(written, sum);
    close(written);
  }
  errno = saved_errno;
  return true;
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
  if (text[0] != '@' || parse_column(text + 1, '\n', &counter.column) == NULL) return fd;
  unsigned long long sum = 0;
  bool summed = find_device(fd, counter.device) && sum_column(&counter, &sum);
  close(fd);
  if (!summed) {
    errno = EIO;
    return -1;
  }
  int value_fd = open_value(&counter, sum, flags);
  if (value_fd >= 0) errno = saved_errno;
  return value_fd;
}
