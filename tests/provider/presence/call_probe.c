// SPDX-License-Identifier: BSD-2-Clause
/// Makes every call that the preloaded object stands in front of, about files that are not RDMA's,
/// and prints what each answers. The output must be the same with and without the object.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

static const char* scratch;

// Where the compiler does not know the flags, _FORTIFY_SOURCE has libc check them.
static volatile int read_only = O_RDONLY;

static void report(const char* what, const char* path, long result) {
  int error = result < 0 ? errno : 0;
  uintptr_t address = (uintptr_t)path;
  printf("%s(%s) = %ld %s\n", what, address < 4096 || (intptr_t)address < 0 ? "bad pointer" : path,
         result, error != 0 ? strerror(error) : "");
  errno = 0;
}

static long closed(int fd) {
  if (fd < 0) return -1;
  close(fd);
  return 0;
}

static long closed_stream(FILE* stream) {
  if (stream == NULL) return -1;
  char text[16] = "";
  size_t length = fread(text, 1, sizeof(text), stream);
  fclose(stream);
  return (long)length;
}

/// The function if libc, or the preloaded object, has it.
static long open_at_2_as(int dirfd, const char* path, const struct open_how* how, size_t size) {
  int (*function)(int, const char*, const struct open_how*, size_t) = NULL;
  void* found = dlsym(RTLD_DEFAULT, "openat2");
  memcpy(&function, &found, sizeof(found));
  if (function != NULL) return closed(function(dirfd, path, how, size));
  return closed((int)syscall(SYS_openat2, dirfd, path, how, size));
}

static long open_at_2(int dirfd, const char* path, uint64_t flags, uint64_t resolve, size_t size) {
  const struct open_how how = {.flags = flags, .resolve = resolve};
  return open_at_2_as(dirfd, path, &how, size);
}

static void try_opens(const char* path) {
  report("open", path, closed(open(path, read_only)));
  report("open w", path, closed(open(path, O_WRONLY | O_NOFOLLOW)));
  report("open dir", path, closed(open(path, O_RDONLY | O_DIRECTORY)));
  report("open path", path, closed(open(path, O_PATH)));
  report("open64", path, closed(open64(path, read_only)));
  report("openat", path, closed(openat(AT_FDCWD, path, read_only)));
  report("openat bad", path, closed(openat(-7, path, read_only)));
  report("openat64", path, closed(openat64(AT_FDCWD, path, read_only)));
  const size_t size = sizeof(struct open_how);
  report("openat2", path, open_at_2(AT_FDCWD, path, O_RDONLY, 0, size));
  report("openat2 w", path, open_at_2(AT_FDCWD, path, O_WRONLY, 0, size));
  report("openat2 bad", path, open_at_2(-7, path, O_RDONLY, 0, size));
  report("openat2 beneath", path, open_at_2(AT_FDCWD, path, O_RDONLY, RESOLVE_BENEATH, size));
  report("openat2 flags", path, open_at_2(AT_FDCWD, path, UINT64_MAX, 0, size));
  report("openat2 short", path, open_at_2(AT_FDCWD, path, O_RDONLY, 0, 8));
  report("openat2 unreadable", path, open_at_2_as(AT_FDCWD, path, NULL, size));
}

static void try_streams(const char* path) {
  report("fopen", path, closed_stream(fopen(path, "r")));
  report("fopen64", path, closed_stream(fopen64(path, "re")));
  report("fopen mode", path, closed_stream(fopen(path, "q")));
  FILE* stream = fopen("/dev/null", "r");
  report("freopen", path, closed_stream(freopen(path, "r", stream)));
  DIR* directory = opendir(path);
  report("opendir", path, directory != NULL ? 0 : -1);
  if (directory != NULL) closedir(directory);
  struct dirent** list = NULL;
  report("scandir", path, scandir(path, &list, NULL, alphasort) < 0 ? -1 : 0);
}

static void try_status(const char* path) {
  struct stat status;
  struct stat64 status64;
  struct statx more;
  struct statfs system;
  report("stat", path, stat(path, &status) < 0 ? -1 : (long)status.st_mode);
  report("stat64", path, stat64(path, &status64) < 0 ? -1 : (long)status64.st_mode);
  report("lstat", path, lstat(path, &status) < 0 ? -1 : (long)status.st_mode);
  report("lstat64", path, lstat64(path, &status64) < 0 ? -1 : (long)status64.st_mode);
  report("fstatat", path, fstatat(AT_FDCWD, path, &status, 0) < 0 ? -1 : (long)status.st_mode);
  report("fstatat fd", path, fstatat(-7, path, &status, 0) < 0 ? -1 : (long)status.st_mode);
  report("statx", path, statx(AT_FDCWD, path, 0, STATX_MODE, &more) < 0 ? -1 : more.stx_mode);
  report("statx empty", path, statx(1, path, AT_EMPTY_PATH, STATX_TYPE, &more));
  report("statfs", path, statfs(path, &system) < 0 ? -1 : (long)system.f_type);
  report("access", path, access(path, R_OK));
  report("access w", path, access(path, W_OK));
  report("eaccess", path, eaccess(path, X_OK));
  report("faccessat", path, faccessat(AT_FDCWD, path, F_OK, AT_EACCESS));
  report("lgetxattr", path, lgetxattr(path, "user.none", NULL, 0));
  report("listxattr", path, listxattr(path, NULL, 0) < 0 ? -1 : 0);
}

static void try_links(const char* path) {
  char text[PATH_MAX] = "";
  ssize_t length = readlink(path, text, sizeof(text) - (size_t)(1 + read_only));
  report("readlink", path, length);
  printf("  %s\n", text);
  report("readlink 0", path, readlink(path, text, 0));
  report("readlinkat", path, readlinkat(AT_FDCWD, path, text, sizeof(text) - (size_t)read_only));
  const char* resolved = realpath(path, text);
  report("realpath", path, resolved != NULL ? (long)strlen(resolved) : -1);
  char* allocated = realpath(path, NULL);
  report("realpath null", path, allocated != NULL ? 0 : -1);
  printf("  %s\n", allocated != NULL ? allocated : "");
  free(allocated);
  allocated = canonicalize_file_name(path);
  report("canonicalize", path, allocated != NULL ? 0 : -1);
  free(allocated);
}

static void try_descriptors(void) {
  int fds[2];
  if (pipe(fds) != 0) abort();
  report("write", "pipe", write(fds[1], "abc", 3));
  close(fds[0]);
  close(fds[1]);
  report("write", "closed", write(fds[1], "abc", 3));
  struct iovec pieces[2] = {{"ab", 2}, {"cd", 2}};
  struct stat status;
  report("writev", "closed", writev(fds[1], pieces, 2));
  report("fstat", "closed", fstat(fds[1], &status));
  report("dup", "closed", closed(dup(fds[1])));
  report("dup3", "same", dup3(0, 0, 0));
  report("write", "-1", write(-1, "abc", 3));
  int null_fd = open("/dev/null", O_RDWR);
  report("write", "null", write(null_fd, "abcd", 4));
  report("F_GETFL", "null", fcntl(null_fd, F_GETFL));
  report("writev", "null", writev(null_fd, pieces, 2));
  report("fstat", "null", fstat(null_fd, &status) < 0 ? -1 : (long)status.st_rdev);
  report("dup", "null", closed(dup(null_fd)));
  report("dup2", "null", closed(dup2(null_fd, 200)));
  report("dup2", "bad", dup2(null_fd, -1));
  report("F_DUPFD", "null", closed(fcntl(null_fd, F_DUPFD, 150)));
  report("F_DUPFD_CLOEXEC", "null", closed(fcntl64(null_fd, F_DUPFD_CLOEXEC, 150)));
  report("F_SETFL", "null", fcntl(null_fd, F_SETFL, O_APPEND));
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  report("F_GETLK", "null", fcntl(null_fd, F_GETLK, &lock));
  report("F_GETLK", "type", lock.l_type);
  report("fcntl", "bad", fcntl(null_fd, 12345, 1));
  int available = 0;
  report("ioctl", "null", ioctl(null_fd, FIONREAD, &available));
  report("ioctl", "bad", ioctl(-1, FIONREAD, &available));
  report("ioctl", "no argument", ioctl(null_fd, FIOCLEX));
  close(null_fd);
  report("socket", "unix", closed(socket(AF_UNIX, SOCK_STREAM, 0)));
  report("socket", "bad", closed(socket(-3, SOCK_STREAM, 0)));
  report("socket", "route netlink", closed(socket(AF_NETLINK, SOCK_RAW, 0)));
}

static void try_creation(void) {
  char path[PATH_MAX];
  snprintf(path, sizeof(path), "%s/made", scratch);
  umask(0);
  int fd = open(path, O_CREAT | O_RDWR, 0640);
  report("create", "made", fd < 0 ? -1 : 0);
  report("write", "made", write(fd, "hello\n", 6));
  close(fd);
  struct stat status;
  report("create again", "made", closed(open(path, O_CREAT | O_EXCL | O_WRONLY, 0600)));
  report("mode", "made", stat(path, &status) < 0 ? -1 : (long)status.st_mode);
  report("tmpfile", "made", closed(open(scratch, O_TMPFILE | O_RDWR, 0600)));
  FILE* stream = fopen(path, "a");
  report("append", "made", stream == NULL ? -1 : fprintf(stream, "more"));
  fclose(stream);
  report("read back", "made", closed_stream(fopen64(path, "r")));
  unlink(path);
}

static void try_memory(void) {
  char* at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  report("mprotect", "page", mprotect(at, 4096, PROT_READ));
  report("mprotect", "no page", mprotect(at + 1, 4096, PROT_READ));
  report("mmap over", "page",
         mmap(at, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at ? 0 : -1);
  report("mmap", "bad fd", mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, -5, 0) == MAP_FAILED ? -1 : 0);
  report("mremap", "page", mremap(at, 8192, 4096, 0) == at ? 0 : -1);
  report("mremap", "nothing", mremap(at + 4096, 4096, 8192, 0) == MAP_FAILED ? -1 : 0);
  report("munmap", "page", munmap(at, 4096));
  report("munmap", "no page", munmap(at + 1, 4096));
  report("shmdt", "nothing", shmdt(at));
  report("sbrk", "down and up", sbrk(4096) == sbrk(-4096) ? 0 : 1);
  report("brk", "null", brk(NULL));
  char* block = malloc(10);
  strcpy(block, "block");
  block = realloc(block, 1000000);
  report("realloc", "block", strcmp(block, "block"));
  errno = ERANGE;
  free(block);
  free(NULL);
  report("free", "errno", errno);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  scratch = argv[1];
  static char too_long[5000];
  memset(too_long, 'x', sizeof(too_long) - 1);
  too_long[0] = '/';
  static char long_sys[5000] = "/sys/class/";
  memset(long_sys + 11, 'y', sizeof(long_sys) - 12);
  const char* volatile paths[] = {"/etc/passwd",
                                  "/etc",
                                  "/no/such/file",
                                  "/etc/passwd/below",
                                  "/proc/self/exe",
                                  "/dev/null",
                                  "/dev",
                                  "/dev/",
                                  "//dev//null",
                                  "/./dev/./null",
                                  "/../dev/null",
                                  "/sys",
                                  "/sys/class",
                                  "/sys/class/net",
                                  "/sys/class/net/lo",
                                  "/sys/class/net/lo/mtu",
                                  "/sys//class//net/lo/../lo",
                                  "/sys/class/infinibandx",
                                  "/sys/class/infiniban",
                                  "/sys/class/../class/net",
                                  "/dev/infinibandx",
                                  "/sys/devices/urxe2",
                                  "/sys/devices",
                                  "/dev/shm",
                                  "/dev/stdin/x",
                                  "",
                                  ".",
                                  "..",
                                  "relative",
                                  "/",
                                  "//",
                                  "/s",
                                  "/d",
                                  "/.",
                                  "/..",
                                  too_long,
                                  long_sys,
                                  NULL,
                                  (const char*)1,
                                  (const char*)-1};
  for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); ++i) {
    const char* path = paths[i];
    uintptr_t address = (uintptr_t)path;
    try_opens(path);
    // libc itself reads these names, or is told that they cannot be null.
    if (address >= 4096 && (intptr_t)address >= 0) {
      try_streams(path);
      try_links(path);
    }
    try_status(path);
  }
  try_descriptors();
  try_creation();
  try_memory();
  return 0;
}
