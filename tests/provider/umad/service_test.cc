// SPDX-License-Identifier: BSD-2-Clause
#include "provider/umad/service.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

namespace urxe::umad::service_test {
namespace {

// A thread has found a file, and waits for the lock while another closes it.
// The defect: it gave the file an agent, of which the file was then freed.
TEST(UmadService, AFileThatWasClosedMeanwhileIsABadDescriptor) {
  int fd = -1;
  const auto file = *UmadFile::create("urxe_lo", O_CLOEXEC, &fd);
  const auto take_in = [&](Service& service) -> Expected<void, Errno> {
    service.add_file(file);
    return {};
  };
  const auto close_it = [&](Service& service) -> Expected<void, Errno> {
    service.close_file(*file);
    return {};
  };
  const auto nothing = [](Service&) -> Expected<void, Errno> { return {}; };
  EXPECT_EQ(Service::run_for(*file, nothing).error().value, EBADF) << "it was not taken in";
  ASSERT_TRUE(Service::run(take_in));
  EXPECT_TRUE(Service::run_for(*file, nothing));
  ASSERT_TRUE(Service::run(close_it));
  EXPECT_EQ(Service::run_for(*file, nothing).error().value, EBADF);
  close(fd);
}

}  // namespace
}  // namespace urxe::umad::service_test
