// SPDX-License-Identifier: BSD-2-Clause
#pragma once

/// Opens a path that urxe_is_presented() said yes to, as open(path, flags, mode).
int urxe_open_presented(const char* path, int flags, unsigned mode);
