// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tools/doctor/buffers.h"
#include "tools/doctor/directories.h"
#include "tools/doctor/engines.h"
#include "tools/doctor/limits.h"
#include "tools/doctor/offload.h"

namespace urxe::doctor {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

TEST(DoctorBuffers, TellsHowMuchIsGranted) {
  EXPECT_EQ(judge_buffers({4 * kMiB, 4 * kMiB, 4 * kMiB}).level, Level::kOk);
  EXPECT_EQ(judge_buffers({4 * kMiB, 212992, 4 * kMiB}).level, Level::kNote);
  EXPECT_EQ(judge_buffers({4 * kMiB, 4 * kMiB, 212992}).level, Level::kNote);
  const Finding tiny = judge_buffers({4 * kMiB, 4096, 4 * kMiB});
  EXPECT_EQ(tiny.level, Level::kProblem);
  EXPECT_NE(tiny.advice.find("net.core.rmem_max=4194304"), std::string::npos);
}

TEST(DoctorLimits, AProgramNeedsDescriptors) {
  EXPECT_EQ(judge_limits({1024, UINT64_MAX}).level, Level::kOk);
  EXPECT_EQ(judge_limits({UINT64_MAX, UINT64_MAX}).what, "programs may open any number of files");
  EXPECT_EQ(judge_limits({40, UINT64_MAX}).level, Level::kProblem);
  EXPECT_EQ(judge_limits({1024, 0}).level, Level::kNote);
}

TEST(DoctorLimits, TheAdviceCanBeTaken) {
  EXPECT_EQ(judge_limits({40, UINT64_MAX, UINT64_MAX}).advice, "ulimit -n 1024");
  EXPECT_EQ(judge_limits({40, UINT64_MAX, 512}).advice, "ulimit -n 512");
  const std::string advice = judge_limits({40, UINT64_MAX, 40}).advice;
  EXPECT_NE(advice.find("hard limit, which is 40"), std::string::npos) << advice;
}

TEST(DoctorLimits, WhatFollowsFromThemIsNoOtherProblem) {
  Findings findings{problem("slots", "cannot be read: Too many open files", "remove the directory"),
                    problem("slots", "cannot be read: No such file", "remove the directory")};
  blame_limits(findings);
  EXPECT_NE(findings[0].advice.find("ulimit -n"), std::string::npos);
  EXPECT_EQ(findings[1].advice, "remove the directory");
}

TEST(DoctorOffload, NamesWhatIsOff) {
  EXPECT_EQ(judge_offload({"eth0", true, true, true, true, true}).level, Level::kOk);
  EXPECT_EQ(judge_offload({"eth0", true, true, {}, {}, {}}).level, Level::kOk);
  EXPECT_EQ(judge_offload({"eth0", false, true, true, true, true}).level, Level::kNote);
  const Finding off = judge_offload({"eth0", true, true, false, false, true});
  EXPECT_EQ(off.level, Level::kNote);
  EXPECT_NE(off.what.find("gso, gro off"), std::string::npos);
  EXPECT_NE(off.advice.find("ethtool -K eth0 gso on gro on"), std::string::npos);
}

TEST(DoctorEngines, OnlyTheChosenOneMustBeThere) {
  for (const Finding& finding : judge_engines({EngineChoice::kAuto, "EPERM", "ENOENT"})) {
    EXPECT_EQ(finding.level, Level::kOk);
  }
  const Findings raw = judge_engines({EngineChoice::kRaw, "EPERM", "ENOENT"});
  ASSERT_EQ(raw.size(), 3u);
  EXPECT_EQ(raw[1].level, Level::kProblem);
  EXPECT_EQ(raw[2].level, Level::kOk);
  EXPECT_EQ(judge_engines({EngineChoice::kDpdk, "", "ENOENT"})[2].level, Level::kProblem);
}

PlaceFacts place(const std::string& path, uint64_t free_bytes) {
  return {path, "", free_bytes, path + "/urxe-1000", ""};
}

TEST(DoctorDirectories, TheFirstPlaceWithRoomIsUsed) {
  const PlaceFacts shm = place("/dev/shm", 64 * kMiB);
  const PlaceFacts tmp = place("/tmp", 64 * kMiB);
  EXPECT_EQ(judge_places({shm, tmp}),
            Findings{ok("directory", "programs meet in /dev/shm/urxe-1000; 64 MiB are free")});
  PlaceFacts full = {"/dev/shm", "", 0, "", ""};
  Findings findings = judge_places({full, tmp});
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].level, Level::kNote);
  EXPECT_NE(findings[0].what.find("/dev/shm: 0 KiB are free; /tmp is used"), std::string::npos);
  PlaceFacts absent = {"/dev/shm", "No such file or directory", 0, "", ""};
  findings = judge_places({absent, full});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].level, Level::kProblem);
}

TEST(DoctorDirectories, TellsThatAnotherUserWasFirst) {
  PlaceFacts squatted = place("/dev/shm", 64 * kMiB);
  squatted.own = "";
  squatted.own_lack = "/dev/shm/urxe-1000 belongs to another user";
  EXPECT_EQ(judge_places({squatted})[0].level, Level::kNote);
  PlaceFacts suffixed = place("/dev/shm", 64 * kMiB);
  suffixed.own = "/dev/shm/urxe-1000-0123456789abcdef";
  EXPECT_EQ(judge_places({suffixed})[0].level, Level::kNote);
  EXPECT_EQ(judge_places({place("/dev/shm", kMiB)})[0].level, Level::kNote);
}

TEST(DoctorSlots, TellsWhenTheyRunOut) {
  EXPECT_EQ(judge_slots({"", "", 0, 0, 0}).level, Level::kOk);
  EXPECT_EQ(judge_slots({"/d", "", 2, 1, 0}),
            ok("slots", "2 of 512 taken, 1 of ended programs, which others may take"));
  EXPECT_EQ(judge_slots({"/d", "", 500, 0, 0}).level, Level::kNote);
  EXPECT_EQ(judge_slots({"/d", "", 2, 0, 1}).level, Level::kNote);
  EXPECT_EQ(judge_slots({"/d", "", 512, 0, 0}).level, Level::kProblem);
  EXPECT_EQ(judge_slots({"", "it stays locked", 0, 0, 0}).level, Level::kProblem);
}

}  // namespace
}  // namespace urxe::doctor
