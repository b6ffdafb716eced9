// SPDX-License-Identifier: BSD-2-Clause
// The captures of kernel rxe in pcap_samples/.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "packet/base/bytes.h"
#include "packet/wire/icrc.h"
#include "packet/wire/roce_packet.h"
#include "tests/packet/wire/rx_packet.h"
#include "tests/support/capture_file.h"
#include "tests/support/datagram.h"
#include "tests/support/icrc_check.h"

namespace urxe::test {
namespace {

std::vector<std::string> sample_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(URXE_PCAP_SAMPLES)) {
    if (entry.path().extension() == ".pcap") names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

CaptureFile read_sample(const std::string& name) {
  return read_capture(std::string(URXE_PCAP_SAMPLES) + "/" + name);
}

/// BTH to ICRC, made anew from the result of parse().
std::vector<uint8_t> emit(const PacketView& view, const RxPacket& packet) {
  const size_t payload = view.payload.size();
  std::vector<uint8_t> bytes(packet_size(view.headers.bth.opcode, payload));
  const size_t start = write_headers(bytes.data(), view.headers, payload);
  std::copy(view.payload.begin(), view.payload.end(),
            bytes.begin() + static_cast<std::ptrdiff_t>(start));
  const size_t covered = bytes.size() - 4;
  const uint16_t id = packet.ipv4_identification.value_or(0);
  store_le32(bytes.data() + covered, icrc(packet.flow, id, {bytes.data(), covered}));
  return bytes;
}

void check_frame(const CapturedFrame& frame) {
  const auto datagram = find_datagram(frame);
  ASSERT_TRUE(datagram);
  EXPECT_EQ(check_icrc(*datagram), IcrcVerdict::kOk);

  RxPacket packet = rx_packet(*datagram);
  const auto view = parse(packet);
  ASSERT_TRUE(view) << drop_reason_name(view.error());
  const auto again = emit(*view, packet);
  EXPECT_EQ(again, std::vector<uint8_t>(packet.bytes.begin(), packet.bytes.end()));

  if (datagram->ipv6) return;
  EXPECT_TRUE(datagram->dont_fragment);
  EXPECT_EQ(icrc_recover_identification(packet.flow, packet.bytes), datagram->identification);
  packet.ipv4_identification.reset();
  EXPECT_TRUE(parse(packet));
}

class Samples : public testing::TestWithParam<std::string> {};

TEST_P(Samples, EveryFrameParsesVerifiesAndIsEmittedTheSame) {
  const CaptureFile file = read_sample(GetParam());
  ASSERT_EQ(file.error, "");
  ASSERT_FALSE(file.frames.empty());
  for (size_t i = 0; i < file.frames.size(); ++i) {
    SCOPED_TRACE("frame " + std::to_string(i + 1));
    check_frame(file.frames[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Rxe, Samples, testing::ValuesIn(sample_names()), [](const auto& sample) {
  return sample.param.substr(0, sample.param.find('.'));
});

/// Rows of INDEX.md: "| name | what | frames | ICRC ok | opcodes |".
TEST(SampleIndex, NamesEveryFileAndItsNumberOfFrames) {
  std::ifstream index(std::string(URXE_PCAP_SAMPLES) + "/INDEX.md");
  std::set<std::string> listed;
  for (std::string line; std::getline(index, line);) {
    std::istringstream row(line);
    std::string cell, name, frames;
    std::getline(row, cell, '|');
    std::getline(row, name, '|');
    std::getline(row, cell, '|');
    std::getline(row, frames, '|');
    name = name.substr(name.find_first_not_of(' ') == std::string::npos ? name.size() : 1);
    name = name.substr(0, name.find(' '));
    if (name.find(".pcap") == std::string::npos) continue;
    listed.insert(name);
    EXPECT_EQ(read_sample(name).frames.size(), std::stoul(frames)) << name;
  }
  const auto names = sample_names();
  EXPECT_EQ(listed, std::set<std::string>(names.begin(), names.end()));
  EXPECT_EQ(names.size(), 38U);
}

}  // namespace
}  // namespace urxe::test
