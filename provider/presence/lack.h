// SPDX-License-Identifier: BSD-2-Clause
#pragma once

/// If errno says that descriptors have run out, says once on stderr that `path` could not be opened
/// and which limit to raise: programs take a device that they cannot read for one that is not
/// there. Likewise if the tree cannot be entered or does not exist. Keeps errno. Safe in signal
/// handlers.
void urxe_report_lack(const char* path);

/// urxe_presence::claim_lack
int urxe_claim_lack(int errno_value);
