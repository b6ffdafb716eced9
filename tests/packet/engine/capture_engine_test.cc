// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "packet/engine/capture.h"
#include "packet/host/file_descriptor.h"
#include "packet/wire/icrc.h"
#include "tests/packet/wire/rx_packet.h"
#include "tests/packet/wire/sample_packets.h"
#include "tests/support/capture_file.h"
#include "tests/support/datagram.h"
#include "tests/support/frees_seen.h"
#include "tests/support/icrc_check.h"

namespace urxe {
namespace {

using test::CaptureFile;
using test::flow_v4;
using test::flow_v6;
using test::IcrcVerdict;

/// Returns the packets it was given from receive(), and counts those in transmit().
class FakeEngine final : public OneLaneEngine {
 public:
  Expected<void, EngineError> open_address(const Gid&) override { return {}; }
  void close_address(const Gid& /*local*/) override {}
  Expected<uint16_t, EngineError> claim_source_port(const Gid&, uint16_t wanted) override {
    return wanted;
  }
  Expected<void, EngineError> join_group(const Gid& /*group*/) override { return {}; }
  void leave_group(const Gid& /*group*/) override {}
  void release_source_port(const Gid&, uint16_t port) override { released = port; }
  std::span<const RxPacket> receive() override { return incoming; }
  size_t transmit(TxBatch& batch) override {
    const size_t packets = batch.packets();
    sent += packets;
    batch.clear();
    return packets;
  }
  [[nodiscard]] LaneLimits limits() const override { return {.packets = 77}; }
  [[nodiscard]] EnginePromises promises() const override { return {.integrity = true}; }
  [[nodiscard]] int wait_fd() const override { return 42; }

  std::vector<RxPacket> incoming;
  size_t sent = 0;
  uint16_t released = 0;
};

class CaptureEngineTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/urxe-capture-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    path_ = directory_ + "/a.pcapng";
  }
  void TearDown() override {
    unlink(path_.c_str());
    rmdir(directory_.c_str());
  }

  std::unique_ptr<CaptureEngine> open_engine() {
    auto inner = std::make_unique<FakeEngine>();
    fake_ = inner.get();
    auto engine = CaptureEngine::open(std::move(inner), path_);
    EXPECT_TRUE(engine) << engine.error().what;
    return engine ? std::move(*engine) : nullptr;
  }

  void write_file(const std::string& content) const { std::ofstream(path_) << content; }
  [[nodiscard]] std::string file() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string directory_;
  std::string path_;
  FakeEngine* fake_ = nullptr;
};

TxBatch::Limits segmenting() {
  TxBatch::Limits limits;
  limits.segments_per_message = 8;
  limits.identification = Identification::kBySegment;
  return limits;
}

void add(TxBatch& batch, const Flow& flow, size_t payload) {
  uint8_t* const at = batch.append(flow, test::full_headers(Opcode(0x04)), payload);
  ASSERT_NE(at, nullptr);
  std::memset(at, 0x77, payload);
  batch.commit();
}

void send_one(CaptureEngine& engine) {
  TxBatch batch(segmenting());
  add(batch, flow_v4(), 8);
  engine.lane(0).transmit(batch);
}

uint16_t ones_complement_sum(std::span<const uint8_t> bytes, uint32_t sum = 0) {
  for (size_t i = 0; i < bytes.size(); ++i) sum += i % 2 == 0 ? bytes[i] * 256U : bytes[i];
  while (sum > 0xffff) sum = (sum >> 16) + (sum & 0xffff);
  return static_cast<uint16_t>(sum);
}

// As with faults: the signal handler of ib_atomic_bw -D allocates, too.
TEST_F(CaptureEngineTest, MemoryIsTakenWhileSignalsAreHeldBack) {
  if (!test::can_fail_allocations()) GTEST_SKIP() << "a sanitizer's operator delete";
  const auto engine = open_engine();
  ASSERT_TRUE(engine);
  TxBatch batch(segmenting());
  for (int i = 0; i < 200; ++i) add(batch, flow_v4(), 900);
  test::frees_seen = {};
  test::watch_frees(test::see_free);
  engine->lane(0).transmit(batch);
  test::watch_frees(nullptr);
  EXPECT_GT(test::frees_seen.all, 0U) << "memory grows";
  EXPECT_EQ(test::frees_seen.open_to_signals, 0U);
}

TEST_F(CaptureEngineTest, SentSegmentsAreRecordsOfTheirOwn) {
  const auto engine = open_engine();
  ASSERT_TRUE(engine);
  TxBatch batch(segmenting());
  for (const size_t payload : {64U, 64U, 33U}) add(batch, flow_v4(), payload);
  for (const size_t payload : {64U, 7U}) add(batch, flow_v6(), payload);
  ASSERT_EQ(batch.messages().size(), 2U);
  engine->lane(0).transmit(batch);
  EXPECT_EQ(fake_->sent, 5U);
  EXPECT_TRUE(batch.empty());

  const CaptureFile read = test::read_capture(path_);
  ASSERT_EQ(read.error, "");
  ASSERT_EQ(read.frames.size(), 5U);
  for (size_t i = 0; i < 5; ++i) {
    SCOPED_TRACE(i);
    const auto& frame = read.frames[i];
    EXPECT_EQ(frame.flags, test::kOutbound);
    EXPECT_GT(frame.time_ns, 1500000000U * uint64_t{1000000000});
    EXPECT_EQ(check_icrc(frame), IcrcVerdict::kOk);
    const auto datagram = find_datagram(frame);
    ASSERT_TRUE(datagram);
    EXPECT_EQ(rx_packet(*datagram).flow, i < 3 ? flow_v4() : flow_v6());
    if (i < 3) {
      EXPECT_EQ(datagram->identification, i);
      EXPECT_TRUE(datagram->dont_fragment);
      EXPECT_EQ(ones_complement_sum(datagram->ip.first(20)), 0xffff);
    } else {
      const auto udp = datagram->ip.subspan(40);
      const uint32_t pseudo =
          ones_complement_sum(datagram->ip.subspan(8, 32)) + static_cast<uint32_t>(udp.size()) + 17;
      EXPECT_EQ(ones_complement_sum(udp, pseudo), 0xffff);
      EXPECT_NE(udp[6] + udp[7], 0);
    }
  }
}

TEST_F(CaptureEngineTest, ReceivedPacketsGetTheirIdentificationBack) {
  const auto engine = open_engine();
  ASSERT_TRUE(engine);
  const auto headers = test::full_headers(Opcode(0x04));
  const auto hidden = test::make_packet(flow_v4(), headers, 10, 0x718c);
  const auto known = test::make_packet(flow_v4(), headers, 10, 0x0102);
  const auto six = test::make_packet(flow_v6(), headers, 10);
  auto corrupt = hidden;
  corrupt[20] ^= 1;
  fake_->incoming = {{hidden, flow_v4(), std::nullopt},
                     {known, flow_v4(), uint16_t{0x0102}},
                     {six, flow_v6(), std::nullopt},
                     {corrupt, flow_v4(), std::nullopt}};
  const auto packets = engine->lane(0).receive();
  EXPECT_EQ(packets.data(), fake_->incoming.data()) << "what is received is passed on as it is";
  EXPECT_EQ(packets.size(), 4U);

  const CaptureFile read = test::read_capture(path_);
  ASSERT_EQ(read.error, "");
  ASSERT_EQ(read.frames.size(), 4U);
  for (const auto& frame : read.frames) EXPECT_EQ(frame.flags, test::kInbound);
  EXPECT_EQ(find_datagram(read.frames[0])->identification, 0x718c);
  EXPECT_EQ(find_datagram(read.frames[1])->identification, 0x0102);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(check_icrc(read.frames[i]), IcrcVerdict::kOk) << i;
  EXPECT_EQ(check_icrc(read.frames[3]), IcrcVerdict::kBad) << "a capture shows what came";
}

TEST_F(CaptureEngineTest, PacketsWithoutIcrcGetOne) {
  const auto engine = open_engine();
  ASSERT_TRUE(engine);
  auto four = test::make_packet(flow_v4(), test::full_headers(Opcode(0x04)), 10, 3);
  auto six = test::make_packet(flow_v6(), test::full_headers(Opcode(0x04)), 10);
  for (auto* packet : {&four, &six}) std::fill(packet->end() - 4, packet->end(), uint8_t{0});
  const std::vector<uint8_t> none(3);
  fake_->incoming = {{four, flow_v4(), uint16_t{3}, false},
                     {six, flow_v6(), std::nullopt, false},
                     {none, flow_v4(), uint16_t{0}, false}};
  EXPECT_EQ(engine->lane(0).receive().data(), fake_->incoming.data()) << "passed on as they are";
  const CaptureFile read = test::read_capture(path_);
  ASSERT_EQ(read.error, "");
  ASSERT_EQ(read.frames.size(), 3U);
  EXPECT_EQ(find_datagram(read.frames[0])->identification, 3);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(check_icrc(read.frames[i]), IcrcVerdict::kOk) << i;
}

TEST_F(CaptureEngineTest, SecondEngineAppends) {
  for (size_t run = 1; run <= 3; ++run) {
    const auto engine = open_engine();
    ASSERT_TRUE(engine);
    TxBatch batch(segmenting());
    add(batch, flow_v4(), 8);
    engine->lane(0).transmit(batch);
    const CaptureFile read = test::read_capture(path_);
    EXPECT_EQ(read.error, "");
    EXPECT_EQ(read.frames.size(), run);
  }
}

TEST_F(CaptureEngineTest, ProcessesAppendAtOnce) {
  constexpr int kProcesses = 4;
  constexpr int kBatches = 50;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      auto engine = CaptureEngine::open(std::make_unique<FakeEngine>(), path_);
      if (!engine) _exit(1);
      TxBatch batch(segmenting());
      for (int n = 0; n < kBatches; ++n) {
        for (const size_t payload : {100U, 100U, 50U}) add(batch, flow_v4(), payload);
        (*engine)->lane(0).transmit(batch);
      }
      _exit(0);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  const CaptureFile read = test::read_capture(path_);
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.frames.size(), size_t{3 * kProcesses * kBatches});
  for (const auto& frame : read.frames) ASSERT_EQ(check_icrc(frame), IcrcVerdict::kOk);
}

TEST_F(CaptureEngineTest, AnotherFileIsRefusedAndLeftAlone) {
  open_engine();
  std::string other_pcapng = file();
  ASSERT_EQ(other_pcapng.size(), 60U);
  other_pcapng[36] = 1;  // link type Ethernet
  const std::string cut = file().substr(0, 59);
  for (const std::string& content : {std::string("precious"), other_pcapng, cut}) {
    write_file(content);
    const auto engine = CaptureEngine::open(std::make_unique<FakeEngine>(), path_);
    ASSERT_FALSE(engine);
    EXPECT_EQ(engine.error().errno_value, EEXIST);
    EXPECT_NE(engine.error().what.find(path_), std::string::npos);
    EXPECT_EQ(file(), content);
  }
}

// Expect: half a record at the end is cut off, and what is appended can be read. The defect: all of
// it was behind that half.
TEST_F(CaptureEngineTest, HalfARecordAtTheEndIsCutOff) {
  for (const size_t lost : {1U, 4U, 16U, 60U, 88U, 95U}) {
    SCOPED_TRACE(lost);
    write_file("");
    send_one(*open_engine());
    const std::string whole = file();
    send_one(*open_engine());
    ASSERT_LT(lost, file().size() - whole.size());
    ASSERT_EQ(truncate(path_.c_str(), static_cast<off_t>(file().size() - lost)), 0);
    send_one(*open_engine());
    EXPECT_EQ(file().substr(0, whole.size()), whole);
    const CaptureFile read = test::read_capture(path_);
    EXPECT_EQ(read.error, "");
    EXPECT_EQ(read.frames.size(), 2U);
  }
}

// Expect: what looks like half a record may be what the other one is writing.
TEST_F(CaptureEngineTest, NothingIsCutOffWhileAnotherOneRecords) {
  const auto other = open_engine();
  send_one(*other);
  const std::string before = file() + "half";
  write_file(before);
  open_engine();
  EXPECT_EQ(file(), before);
}

// Anyone who may read the file can do that. Expect: the program is told, and does not wait for
// ever.
TEST_F(CaptureEngineTest, AFileThatIsLockedForLongIsRefused) {
  send_one(*open_engine());
  const FileDescriptor stranger(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(flock(stranger.get(), LOCK_EX), 0);
  const auto engine = CaptureEngine::open(std::make_unique<FakeEngine>(), path_);
  ASSERT_FALSE(engine);
  EXPECT_NE(engine.error().what.find("has locked it"), std::string::npos) << engine.error().what;
  ASSERT_EQ(flock(stranger.get(), LOCK_UN), 0);
  open_engine();
}

TEST_F(CaptureEngineTest, ADamagedCaptureIsRefusedAndLeftAlone) {
  send_one(*open_engine());
  std::string damaged = file();
  damaged[64] = 1;  // the length of the record
  for (const std::string& content : {damaged, file() + std::string(100, '\0')}) {
    write_file(content);
    const auto engine = CaptureEngine::open(std::make_unique<FakeEngine>(), path_);
    ASSERT_FALSE(engine);
    EXPECT_EQ(engine.error().errno_value, EEXIST);
    EXPECT_NE(engine.error().what.find("is damaged"), std::string::npos) << engine.error().what;
    EXPECT_EQ(file(), content);
  }
}

// A capture holds payload.
TEST_F(CaptureEngineTest, NobodyElseCanReadANewFile) {
  const auto mode = [this] {
    struct stat status {};
    EXPECT_EQ(stat(path_.c_str(), &status), 0);
    return status.st_mode & 07777;
  };
  const mode_t mask = umask(0);
  ASSERT_TRUE(open_engine());
  umask(mask);
  EXPECT_EQ(mode(), 0600U);
  ASSERT_EQ(chmod(path_.c_str(), 0640), 0);
  ASSERT_TRUE(open_engine());
  EXPECT_EQ(mode(), 0640U) << "its owner has decided so";
  write_file("");
  ASSERT_EQ(chmod(path_.c_str(), 0666), 0);
  ASSERT_TRUE(open_engine());
  EXPECT_EQ(mode(), 0600U) << "the capture begins";
}

TEST_F(CaptureEngineTest, AFileOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  write_file("");
  if (chown(path_.c_str(), 64999, 64999) != 0) GTEST_SKIP() << "no other user here";
  const auto engine = CaptureEngine::open(std::make_unique<FakeEngine>(), path_);
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().errno_value, EACCES);
  EXPECT_EQ(file(), "");
}

// Once: in /tmp another user's link, to a file that did not exist, decided where the capture went.
TEST_F(CaptureEngineTest, ALinkOfAnotherUserIsNotFollowed) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const std::string target = directory_ + "/target";
  ASSERT_EQ(chmod(directory_.c_str(), 01777), 0);
  ASSERT_EQ(symlink(target.c_str(), path_.c_str()), 0);
  if (lchown(path_.c_str(), 64999, 64999) != 0) GTEST_SKIP() << "no other user here";
  const auto engine = CaptureEngine::open(std::make_unique<FakeEngine>(), path_);
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().errno_value, EACCES);
  EXPECT_NE(engine.error().what.find("another user"), std::string::npos) << engine.error().what;
  EXPECT_NE(access(target.c_str(), F_OK), 0) << "nothing was made";
  std::ofstream(target).flush();
  EXPECT_FALSE(CaptureEngine::open(std::make_unique<FakeEngine>(), path_));
  struct stat facts {};
  EXPECT_EQ(stat(target.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_size, 0) << "nothing was written";
  unlink(target.c_str());
}

TEST_F(CaptureEngineTest, ALinkOfOnesOwnIsFollowed) {
  const std::string target = directory_ + "/target";
  ASSERT_EQ(symlink("target", path_.c_str()), 0);
  ASSERT_TRUE(open_engine());
  EXPECT_EQ(access(target.c_str(), F_OK), 0);
  unlink(target.c_str());
}

TEST_F(CaptureEngineTest, PathsThatCannotBe) {
  auto engine = CaptureEngine::open(std::make_unique<FakeEngine>(), directory_ + "/no/such/dir");
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().errno_value, ENOENT);
  engine = CaptureEngine::open(std::make_unique<FakeEngine>(), directory_);
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().errno_value, EISDIR);
  engine = CaptureEngine::open(std::make_unique<FakeEngine>(), "/dev/null");
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().errno_value, EINVAL);
}

/// Runs in a child, because the limit on the size of files applies to the whole process.
int send_beyond_file_limit(const std::string& path, int stderr_fd) {
  dup2(stderr_fd, 2);
  const rlimit limit{400, 400};
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
  // Two that record in one file: the second one finds it full.
  for (int writer = 0; writer < 2; ++writer) {
    auto inner = std::make_unique<FakeEngine>();
    const FakeEngine* const fake = inner.get();
    const auto engine = CaptureEngine::open(std::move(inner), path);
    if (!engine) return 1;
    TxBatch batch(segmenting());
    for (int i = 0; i < 6; ++i) {
      add(batch, flow_v4(), 64);
      (*engine)->lane(0).transmit(batch);
    }
    if (fake->sent != 6) return 3;
  }
  return 0;
}

TEST_F(CaptureEngineTest, FailedWriteEndsTheCaptureNotTheTraffic) {
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  const pid_t pid = fork();
  if (pid == 0) _exit(send_beyond_file_limit(path_, pipe_fds[1]));
  close(pipe_fds[1]);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
  char text[4096];
  const ssize_t size = read(pipe_fds[0], text, sizeof text);
  close(pipe_fds[0]);
  ASSERT_GT(size, 0);
  const std::string message(text, static_cast<size_t>(size));
  EXPECT_NE(message.find(path_), std::string::npos);
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 2) << message;
  const size_t frames = test::read_capture(path_).frames.size();
  send_one(*open_engine());
  EXPECT_EQ(test::read_capture(path_).error, "") << "half a record was left there";
  EXPECT_EQ(test::read_capture(path_).frames.size(), frames + 1);
}

TEST_F(CaptureEngineTest, TheRestIsTheInnerEngines) {
  const auto engine = open_engine();
  ASSERT_TRUE(engine);
  EXPECT_TRUE(engine->open_address(flow_v4().source));
  EXPECT_EQ(engine->claim_source_port(flow_v4().source, 0xc005).value(), 0xc005);
  engine->release_source_port(flow_v4().source, 0xc006);
  EXPECT_EQ(fake_->released, 0xc006);
  EXPECT_EQ(engine->batch_limits().packets, 77U);
  EXPECT_TRUE(fake_->promises().integrity);
  EXPECT_FALSE(engine->promises().integrity) << "a capture has ICRCs";
  EXPECT_TRUE(engine->batch_limits().seals);
  EXPECT_EQ(engine->lane(0).wait_fd(), 42);
}

}  // namespace
}  // namespace urxe
