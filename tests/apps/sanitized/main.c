// SPDX-License-Identifier: BSD-2-Clause
/// A program that a user has built with a sanitizer: registers memory, starts threads that allocate
/// and free, and sees whether the sanitizer still works.
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBytes = 1 << 16, kThreads = 4, kBlocks = 1000 };

static void* work(void* unused) {
  (void)unused;
  for (int i = 0; i < kBlocks; ++i) {
    char* volatile block = malloc((size_t)i * 100 + 1);
    if (block == NULL) return NULL;
    block[0] = 1;
    free(block);
  }
  return NULL;
}

int main(void) {
  int count = 0;
  struct ibv_device** devices = ibv_get_device_list(&count);
  if (devices == NULL || count == 0) {
    fprintf(stderr, "no devices\n");
    return 1;
  }
  struct ibv_context* context = ibv_open_device(devices[0]);
  ibv_free_device_list(devices);
  struct ibv_pd* pd = context != NULL ? ibv_alloc_pd(context) : NULL;
  char* buffer = malloc(kBytes);
  struct ibv_mr* mr = pd != NULL ? ibv_reg_mr(pd, buffer, kBytes, IBV_ACCESS_LOCAL_WRITE) : NULL;
  if (mr == NULL) {
    perror("ibv_reg_mr");
    return 1;
  }
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  ibv_dereg_mr(mr);
  free(buffer);
  ibv_dealloc_pd(pd);
  ibv_close_device(context);
  printf("done\n");
  return 0;
}
