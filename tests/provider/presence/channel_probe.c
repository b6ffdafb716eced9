// SPDX-License-Identifier: BSD-2-Clause
/// A program that speaks to the connection manager's node without libibverbs and librdmacm: event
/// channels as the kernel has them. Exits with 0, or says which expectation failed.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_user_cm.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/provider/presence/probe.h"

static int open_channel(int more_flags) {
  return open("/dev/infiniband/rdma_cm", O_RDWR | more_flags);
}

static ssize_t create_id(int fd, uint32_t* id) {
  struct rdma_ucm_create_id_resp response = {0};
  struct {
    struct rdma_ucm_cmd_hdr header;
    struct rdma_ucm_create_id command;
  } request = {{RDMA_USER_CM_CMD_CREATE_ID, sizeof(request.command), sizeof(response)}, {0}};
  request.command.uid = 1;
  request.command.response = (uintptr_t)&response;
  request.command.ps = RDMA_PS_TCP;
  ssize_t result = write(fd, &request, sizeof(request));
  *id = response.id;
  return result < 0 ? -1 : 0;
}

static ssize_t destroy_id(int fd, uint32_t id) {
  struct rdma_ucm_destroy_id_resp response = {0};
  struct {
    struct rdma_ucm_cmd_hdr header;
    struct rdma_ucm_destroy_id command;
  } request = {{RDMA_USER_CM_CMD_DESTROY_ID, sizeof(request.command), sizeof(response)}, {0}};
  request.command.response = (uintptr_t)&response;
  request.command.id = id;
  return write(fd, &request, sizeof(request)) < 0 ? -1 : 0;
}

static ssize_t get_event(int fd) {
  struct rdma_ucm_event_resp response;
  struct {
    struct rdma_ucm_cmd_hdr header;
    struct rdma_ucm_get_event command;
  } request = {{RDMA_USER_CM_CMD_GET_EVENT, sizeof(request.command), sizeof(response)}, {0}};
  request.command.response = (uintptr_t)&response;
  return write(fd, &request, sizeof(request)) < 0 ? -1 : 0;
}

static void check_descriptor(void) {
  int fd = open_channel(O_CLOEXEC | O_NONBLOCK);
  struct stat status;
  EXPECT(fd >= 0 && fstat(fd, &status) == 0 && S_ISCHR(status.st_mode));
  EXPECT((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0 && (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
  struct pollfd poll_fd = {fd, POLLIN | POLLOUT, 0};
  EXPECT(poll(&poll_fd, 1, 0) == 0);
  EXPECT(get_event(fd) == -1 && errno == EAGAIN);
  EXPECT(write(fd, "short", 5) == -1 && errno == EINVAL);
  void* volatile nowhere = (void*)8;
  EXPECT(write(fd, nowhere, 8) == -1 && errno == EFAULT);
  close(fd);
  EXPECT(write(fd, "closed", 6) == -1 && errno == EBADF);
}

static void check_ids_are_a_channels_own(void) {
  int fd = open_channel(O_CLOEXEC);
  int other = open_channel(O_CLOEXEC);
  int copy = dup(fd);
  uint32_t id;
  EXPECT(create_id(fd, &id) == 0);
  EXPECT(destroy_id(other, id) == -1 && (errno == EINVAL || errno == ENOENT));
  EXPECT(destroy_id(copy, id) == 0);
  EXPECT(destroy_id(fd, id) == -1 && errno == ENOENT);
  close(fd);
  close(other);
  close(copy);
}

static void* wait_for_event(void* fd) {
  (void)get_event(*(int*)fd);
  return NULL;
}

static void check_cancellation(void) {
  int fd = open_channel(O_CLOEXEC);
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, wait_for_event, &fd) == 0);
  EXPECT(pthread_cancel(thread) == 0);
  void* result = NULL;
  EXPECT(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
  // Expect: the channel is as good as before.
  uint32_t id;
  EXPECT(create_id(fd, &id) == 0 && destroy_id(fd, id) == 0);
  close(fd);
}

static _Atomic bool interrupted;

static void* wait_for_interruption(void* fd) {
  EXPECT(get_event(*(int*)fd) == -1 && errno == EINTR);
  atomic_store(&interrupted, true);
  return NULL;
}

static void ignore(int number) {
  (void)number;
}

static void check_interruption(void) {
  struct sigaction action = {.sa_handler = ignore};
  sigaction(SIGUSR1, &action, NULL);
  int fd = open_channel(O_CLOEXEC);
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, wait_for_interruption, &fd) == 0);
  // The signal may come before the thread waits.
  while (!atomic_load(&interrupted)) {
    pthread_kill(thread, SIGUSR1);
    sched_yield();
  }
  EXPECT(pthread_join(thread, NULL) == 0);
  close(fd);
}

static void check_child(int fd) {
  uint32_t id;
  EXPECT(create_id(fd, &id) == -1 && errno == ENODEV);
  EXPECT(get_event(fd) == -1 && errno == ENODEV);
  struct stat status;
  EXPECT(fstat(fd, &status) == 0 && S_ISCHR(status.st_mode));
  close(fd);
  int own = open_channel(O_CLOEXEC);
  EXPECT(own >= 0 && create_id(own, &id) == 0);
}

static void check_fork(void) {
  int fd = open_channel(O_CLOEXEC);
  uint32_t id;
  EXPECT(create_id(fd, &id) == 0);
  pid_t child = fork();
  EXPECT(child >= 0);
  if (child == 0) {
    check_child(fd);
    _exit(0);
  }
  int status;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  EXPECT(destroy_id(fd, id) == 0);
  close(fd);
}

static int count_descriptors(void) {
  DIR* directory = opendir("/proc/self/fd");
  EXPECT(directory != NULL);
  int count = 0;
  while (readdir(directory) != NULL) ++count;
  closedir(directory);
  return count;
}

static void check_closing_leaves_nothing(void) {
  int before = count_descriptors();
  for (int i = 0; i < 2000; ++i) {
    int fd;
    // The provider hears of a close() a little later.
    while ((fd = open_channel(O_CLOEXEC)) < 0) EXPECT(errno == EMFILE && sched_yield() == 0);
    uint32_t id;
    EXPECT(create_id(fd, &id) == 0);
    close(fd);
  }
  while (count_descriptors() > before + 2) sched_yield();
}

static void check_descriptor_limit(void) {
  struct rlimit limit;
  EXPECT(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  struct rlimit none = {0, limit.rlim_max};
  EXPECT(setrlimit(RLIMIT_NOFILE, &none) == 0);
  EXPECT(open_channel(O_CLOEXEC) == -1 && errno == EMFILE);
  EXPECT(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

// "without-cancellation" leaves out check_cancellation().
int main(int argc, char** argv) {
  check_descriptor();
  check_ids_are_a_channels_own();
  if (argc < 2 || strcmp(argv[1], "without-cancellation") != 0) check_cancellation();
  check_interruption();
  check_fork();
  check_closing_leaves_nothing();
  check_descriptor_limit();
  return 0;
}
