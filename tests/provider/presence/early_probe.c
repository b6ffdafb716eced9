// SPDX-License-Identifier: BSD-2-Clause
/// Unmaps memory before libc has read the environment, as a sanitizer's run-time does, and then
/// asks for a file of the tree: exit status 0 where it is there.
#include <sys/mman.h>
#include <unistd.h>

static void unmap_early(void) {
  void* page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(page, 4096);
}

__attribute__((section(".preinit_array"), used)) static void (*before_all)(void) = unmap_early;

int main(int argc, char** argv) {
  return argc == 2 && access(argv[1], R_OK) == 0 ? 0 : 1;
}
