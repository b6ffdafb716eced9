// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace urxe::test {

/// Makes so many ids at a time.
void many_ids(int count);

/// So many listeners on the node. Prints "ports", theirs, and for each request "request" and the
/// port of the listener that it has come to; rejects it. For ever.
void many_listeners(const char* node, int count);

/// Binds an id and prints "bind" and OK or the name of the error.
void bind_once(const char* node, const char* port);

}  // namespace urxe::test
