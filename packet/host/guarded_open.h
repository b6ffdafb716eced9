// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <string>

#include "packet/base/engine_error.h"
#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

/// As open(2), but does not follow a symbolic link anywhere in `path` that belongs to neither the
/// user nor root: in a directory that all may write to, such as /tmp, another user can put one in
/// the place of a file that is about to be made. EACCES: there is such a link; otherwise as
/// open(2). The error's words do not begin with the path.
Expected<FileDescriptor, EngineError> guarded_open(const std::string& path, int flags,
                                                   mode_t mode = 0);

}  // namespace urxe
