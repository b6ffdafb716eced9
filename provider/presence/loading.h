// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <stdbool.h>

/// Makes libibverbs load the provider, which then installs its hooks here. All releases of
/// librdmacm have done so before they open the connection manager's node; this is for programs that
/// open the node themselves, and for those that know no verbs. Does nothing if there is no
/// libibverbs.
void urxe_load_provider(void);

/// Whether the calling thread is in urxe_load_provider().
bool urxe_is_loading_provider(void);

/// Whether the program itself has loaded libibverbs.
bool urxe_program_has_libibverbs(void);
