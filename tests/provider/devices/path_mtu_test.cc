// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/path_mtu.h"

#include <gtest/gtest.h>

namespace urxe {
namespace {

TEST(PathMtu, LeavesRoomForTheHeaders) {
  EXPECT_EQ(path_mtu_for(65536), IBV_MTU_4096);
  EXPECT_EQ(path_mtu_for(4096 + 80), IBV_MTU_4096);
  EXPECT_EQ(path_mtu_for(4096 + 79), IBV_MTU_2048);
  EXPECT_EQ(path_mtu_for(1500), IBV_MTU_1024);
  EXPECT_EQ(path_mtu_for(1103), IBV_MTU_512);
  EXPECT_EQ(path_mtu_for(576), IBV_MTU_256);
  EXPECT_EQ(path_mtu_for(68), IBV_MTU_256);
}

}  // namespace
}  // namespace urxe
