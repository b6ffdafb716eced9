// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "packet/base/expected.h"
#include "provider/cm/files/cm_file.h"

namespace urxe::cm {

/// Takes a file that the application has opened into the service, and starts the service's thread
/// with the first. The service keeps the file until the application has closed its end
/// (CmFile::own_fd() hangs up); the thread then destroys the file's ids. EMFILE, EAGAIN, ENOMEM.
///
/// The thread sleeps on the files, on address resolutions and on the marks of devices whose
/// connection manager has events (see Watch), and handles what has happened with the service's lock
/// held.
Expected<void, Errno> add_file(const std::shared_ptr<CmFile>& file);

}  // namespace urxe::cm
