// SPDX-License-Identifier: BSD-2-Clause
#pragma once

/// What the probes share: programs that look at what the preloaded object shows them.

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "provider/presence/presence_abi.h"

/// Ends the program, and says which expectation failed.
#define EXPECT(condition)                                             \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition); \
      exit(1);                                                        \
    }                                                                 \
  } while (0)

static inline const struct urxe_presence* find_presence(void) {
  urxe_presence_v1_function function;
  void* symbol = dlsym(RTLD_DEFAULT, "urxe_presence_v1");
  EXPECT(symbol != NULL);
  memcpy(&function, &symbol, sizeof(function));
  return function();
}
