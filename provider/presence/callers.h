// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <stdbool.h>

/// The name of the object that has the address; "": it is not known.
const char* urxe_object_of(const void* address);
/// Whether that is libibverbs, librdmacm, or the library by which they open netlink sockets.
bool urxe_is_verbs_library(const char* name);
/// Whether that is a sanitizer's, which passes calls of other objects on and so hides these.
bool urxe_is_sanitizer(const char* name);
