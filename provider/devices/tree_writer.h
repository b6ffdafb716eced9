// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "provider/devices/sysfs_tree.h"

namespace urxe {

/// Writes what is in a tree into `directory`, which exists. False with errno: a part may be there.
bool write_tree(const std::string& directory, const TreeContent& content);

}  // namespace urxe
