// SPDX-License-Identifier: BSD-2-Clause
// The tables themselves: no capture is left out, and no difference is listed that is not there.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "tests/interop/replay/difference.h"
#include "tests/interop/replay/side_replay.h"
#include "tests/interop/replay/story.h"

namespace urxe::replay {
namespace {

namespace fs = std::filesystem;

/// Those of rxe with rxe lie in the folder itself, those of rxe with urxe in interop/.
std::set<std::string> files_in_the_folder() {
  std::set<std::string> files;
  for (const std::string folder : {"", "interop/"}) {
    const fs::path path = samples_folder() + "/" + folder;
    if (!fs::exists(path)) continue;
    for (const auto& entry : fs::directory_iterator(path)) {
      if (entry.is_regular_file() && entry.path().extension().string().starts_with(".pcap")) {
        files.insert(folder + entry.path().filename().string());
      }
    }
  }
  return files;
}

std::string whole_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// What all captures together show.
Ledger replay_all() {
  Ledger ledger;
  for (const CaptureRow& row : capture_table()) {
    const Story story(row);
    for (const SidePlan& plan : plan_sides(story)) {
      SideReplay side(story, plan);
      side.run();
      side.check_requester(ledger);
      side.check_responder(ledger);
    }
  }
  return ledger;
}

TEST(CaptureTable, NamesEachCaptureOnce) {
  std::set<std::string> named;
  for (const CaptureRow& row : capture_table()) {
    EXPECT_TRUE(named.insert(std::string(row.file)).second) << row.file;
  }
  EXPECT_EQ(named, files_in_the_folder());
}

// A capture without any would have been replayed without anything having been compared.
TEST(CaptureTable, EachCaptureHasRequestsToReplayOrSaysWhyNot) {
  for (const CaptureRow& row : capture_table()) {
    const Story story(row);
    EXPECT_EQ(story.error(), "") << row.file;
    EXPECT_EQ(story.talks().empty(), !row.without_requests.empty()) << row.file;
  }
}

TEST(DifferenceTable, IsInTheOrderOfTheNames) {
  for (size_t i = 0; i < kDifferences; ++i) {
    EXPECT_EQ(static_cast<size_t>(difference_table()[i].difference), i);
  }
}

TEST(DifferenceTable, EachDifferenceIsFoundInSomeCapture) {
  const Ledger ledger = replay_all();
  for (const DifferenceRow& row : difference_table()) {
    EXPECT_GT(ledger.times(row.difference), 0U) << row.name;
  }
}

TEST(DifferenceTable, IsTheWrittenOne) {
  const std::string text = whole_file(URXE_REPLAY_FOLDER "/differences.md");
  for (const DifferenceRow& row : difference_table()) {
    EXPECT_NE(text.find("`" + std::string(row.name) + "`"), std::string::npos) << row.name;
  }
}

}  // namespace
}  // namespace urxe::replay
