// SPDX-License-Identifier: BSD-2-Clause
// urxe_out_of_memory DEVICE
//
// Opens the device. Then a thread that has called no verb yet uses up the memory that the process
// may have, and calls verbs that make objects: each must fail with ENOMEM. In C, so that the C++
// library is loaded with the provider: its thread-local memory is then allocated late.
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static struct ibv_context* open_device(const char* name) {
  int count = 0;
  struct ibv_device** list = ibv_get_device_list(&count);
  struct ibv_context* context = NULL;
  for (int i = 0; i < count; ++i) {
    if (strcmp(ibv_get_device_name(list[i]), name) == 0) context = ibv_open_device(list[i]);
  }
  return context;
}

/// Leaves not even small blocks. The kernel takes a limit of 0 for none.
static void use_up_memory(void) {
  const struct rlimit limit = {4096, RLIM_INFINITY};
  if (setrlimit(RLIMIT_DATA, &limit) != 0) _exit(3);
  void* volatile block = NULL;
  for (size_t size = (size_t)1 << 20; size > 0; size /= 2) {
    do block = malloc(size);
    while (block != NULL);
  }
}

static const char* result_of(const void* made) {
  return made != NULL ? "made" : strerrorname_np(errno);
}

static void* make_objects(void* context) {
  char line[100];
  use_up_memory();
  const char* const pd = result_of(ibv_alloc_pd(context));
  const char* const cq = result_of(ibv_create_cq(context, 1000, NULL, NULL, 0));
  const char* const channel = result_of(ibv_open_device(((struct ibv_context*)context)->device));
  int length = snprintf(line, sizeof line, "PD %s, CQ %s, device %s\n", pd, cq, channel);
  _exit(write(STDOUT_FILENO, line, (size_t)length) == length ? 0 : 3);
}

int main(int argc, char** argv) {
  struct ibv_context* const context = argc == 2 ? open_device(argv[1]) : NULL;
  pthread_t thread;
  if (context == NULL || pthread_create(&thread, NULL, make_objects, context) != 0) return 2;
  pthread_join(thread, NULL);
  return 3;
}
