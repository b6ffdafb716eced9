// SPDX-License-Identifier: BSD-2-Clause
/// fopen() and its kin.
#include <errno.h>
#include <string.h>

#include "provider/presence/counters.h"
#include "provider/presence/descriptors.h"
#include "provider/presence/lack.h"
#include "provider/presence/next.h"
#include "provider/presence/place.h"

/// Opens a file of the tree for a stream of that mode; -1 and errno.
static int open_for_stream(const char* target_path, const char* mode) {
  if (mode[0] != 'r' || strchr(mode, '+') != NULL) {
    errno = mode[0] == 'r' || mode[0] == 'w' || mode[0] == 'a' ? EACCES : EINVAL;
    return -1;
  }
  int flags = O_RDONLY | (strchr(mode, 'e') != NULL ? O_CLOEXEC : 0);
  return urxe_finish_tree_open(URXE_NEXT(open)(target_path, flags), flags);
}

/// Closes `fd` if that fails.
static FILE* stream_of(int fd, const char* mode) {
  FILE* stream = fdopen(fd, mode);
  if (stream != NULL) return stream;
  int saved_errno = errno;
  close(fd);
  errno = saved_errno;
  return NULL;
}

static __attribute__((noinline)) FILE* open_stream(const char* path, const char* mode) {
  struct urxe_target target;
  urxe_translate(path, &target);
  if (target.kind != URXE_IN_TREE) return URXE_NEXT(fopen)(target.path, mode);
  int fd = open_for_stream(target.path, mode);
  if (fd < 0) {
    urxe_report_lack(path);
    return NULL;
  }
  return stream_of(fd, mode);
}

static __attribute__((noinline)) FILE* reopen_stream(const char* path, const char* mode,
                                                     FILE* stream) {
  struct urxe_target target;
  urxe_translate(path, &target);
  if (target.kind != URXE_IN_TREE) return URXE_NEXT(freopen)(target.path, mode, stream);
  int fd = open_for_stream(target.path, mode);
  if (fd < 0) {
    int saved_errno = errno;
    fclose(stream);  // as freopen() does if it cannot open the file
    errno = saved_errno;
    return NULL;
  }
  char name[32];
  snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
  FILE* result = URXE_NEXT(freopen)(name, mode, stream);
  close(fd);
  return result;
}

/// A relative name may be that of a counter file. NULL and EMFILE: no descriptor is left to read
/// the counter by.
static FILE* finish_stream(const char* path, FILE* stream, const char* mode) {
  if (stream == NULL || mode[0] != 'r' || !urxe_opened_in_tree(AT_FDCWD, path, fileno(stream))) {
    return stream;
  }
  bool closes = strchr(mode, 'e') != NULL;
  int fd = fcntl(fileno(stream), closes ? F_DUPFD_CLOEXEC : F_DUPFD, 0);
  int saved_errno = errno;
  fclose(stream);
  errno = saved_errno;
  if (fd >= 0) fd = urxe_finish_tree_open(fd, closes ? O_CLOEXEC : 0);
  return fd >= 0 ? stream_of(fd, mode) : NULL;
}

URXE_EXPORT FILE* fopen(const char* path, const char* mode) {
  if (!urxe_is_elsewhere(path)) return open_stream(path, mode);
  return finish_stream(path, URXE_NEXT(fopen)(path, mode), mode);
}

URXE_EXPORT FILE* fopen64(const char* path, const char* mode) {
  if (!urxe_is_elsewhere(path)) return open_stream(path, mode);
  return finish_stream(path, URXE_NEXT(fopen64)(path, mode), mode);
}

URXE_EXPORT FILE* freopen(const char* path, const char* mode, FILE* stream) {
  if (urxe_is_elsewhere(path)) return URXE_NEXT(freopen)(path, mode, stream);
  return reopen_stream(path, mode, stream);
}

URXE_EXPORT FILE* freopen64(const char* path, const char* mode, FILE* stream) {
  if (urxe_is_elsewhere(path)) return URXE_NEXT(freopen64)(path, mode, stream);
  return reopen_stream(path, mode, stream);
}
