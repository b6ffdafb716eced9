// SPDX-License-Identifier: BSD-2-Clause
#include "provider/umad/install.h"

#include <cerrno>
#include <fstream>

#include "packet/host/uncancelled.h"
#include "provider/devices/device_tree.h"
#include "provider/devices/preloaded.h"
#include "provider/runtime/errors.h"
#include "provider/umad/open_files.h"
#include "provider/umad/registration.h"
#include "provider/umad/sending.h"
#include "provider/umad/service.h"

namespace urxe::umad {
namespace {

Expected<int, Errno> open_file(int number, int flags) {
  const std::string node =
      device_tree() + "/sys/class/infiniband_mad/umad" + std::to_string(number);
  std::string device;
  if (!(std::ifstream(node + "/ibdev") >> device)) return error(ENXIO);
  int fd = -1;
  auto file = UmadFile::create(device, flags, &fd);
  if (!file) return Unexpected<Errno>(file.error());
  FileDescriptor application(fd);
  auto added = Service::run([&](Service& service) -> Expected<void, Errno> {
    service.add_file(*file);
    return {};
  });
  if (!added) return Unexpected<Errno>(added.error());
  return application.release();
}

/// The result of `work`, which no exception leaves.
template <class Work>
auto guarded(Work work) noexcept -> decltype(work()) {
  const Uncancelled uncancelled;
  try {
    return work();
  } catch (...) {
    return error(ENOMEM);
  }
}

int open_hook(int number, int flags) noexcept {
  const auto opened = guarded([&] { return open_file(number, flags); });
  if (!opened) report_lack("open a umad node", opened.error().value);
  return opened ? *opened : fail(opened.error().value);
}

int is_file_hook(int fd) noexcept {
  return OpenFiles::instance().has(fd) ? 1 : 0;
}

ssize_t write_hook(int fd, const void* buffer, size_t length) noexcept {
  const auto written = guarded([&]() -> Expected<size_t, Errno> {
    const auto file = OpenFiles::instance().find(fd);
    if (!file) return error(file.error().value);
    return Service::run_for(
        **file, [&](Service& service) { return send_mad(service, **file, buffer, length); });
  });
  return written ? static_cast<ssize_t>(*written) : fail(written.error().value);
}

int ioctl_hook(int fd, unsigned long request, void* argument) noexcept {
  const auto done = guarded([&]() -> Expected<void, Errno> {
    const auto file = OpenFiles::instance().find(fd);
    if (!file) return error(file.error().value);
    return Service::run_for(
        **file, [&](Service& service) { return command(service, **file, request, argument); });
  });
  return done ? 0 : fail(done.error().value);
}

size_t least_read_hook(int fd) noexcept {
  const auto file = OpenFiles::instance().find(fd);
  return file ? (*file)->header_bytes() + kMadBytes : 0;
}

constexpr urxe_mad_hooks kHooks = {open_hook, is_file_hook, write_hook, ioctl_hook,
                                   least_read_hook};

}  // namespace

void install() noexcept {
  constexpr uint32_t kFirstWithHooks = 7;
  const urxe_presence* const presence = find_presence(kFirstWithHooks);
  if (presence == nullptr) return;
  try {
    OpenFiles::instance();
  } catch (...) {
    return;
  }
  presence->set_mad_hooks(&kHooks);
}

}  // namespace urxe::umad
