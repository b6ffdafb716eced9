// SPDX-License-Identifier: BSD-2-Clause
#pragma once

/// The preloaded object's versions of libc's functions of these names, which it exports as
/// memory.c says, and by the names here for unversioned.c.

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

int urxe_versioned_munmap(void* address, size_t length);
void* urxe_versioned_mremap(void* address, size_t old_length, size_t new_length, int flags, ...);
void* urxe_versioned_mmap(void* address, size_t length, int protection, int flags, int fd,
                          off_t offset);
void* urxe_versioned_mmap64(void* address, size_t length, int protection, int flags, int fd,
                            off64_t offset);
void* urxe_versioned_shmat(int id, const void* address, int flags);
int urxe_versioned_shmdt(const void* address);
int urxe_versioned_brk(void* address);
void* urxe_versioned_sbrk(intptr_t increment);
int urxe_versioned_madvise(void* address, size_t length, int advice);
