// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/tools/analyze/wire_script.h"
#include "tools/analyze/new_file.h"
#include "tools/analyze/progress_bar.h"
#include "tools/analyze/report.h"

namespace urxe::test {
namespace {

namespace fs = std::filesystem;

/// The JSON in a page.
std::string data_of(const std::string& page) {
  const std::string begin = R"(<script type="application/json" id="data">)";
  const size_t from = page.find(begin);
  if (from == std::string::npos) return "";
  const size_t data = from + begin.size();
  return page.substr(data, page.find("</script>", data) - data);
}

const analyze::Analysis& some_traffic(WireScript& script) {
  script.request(Operation::kSendOnly, 5);
  script.ack(5, 1);
  return script.finish();
}

TEST(AnalyzePage, SaysThatTheFileWasNotReadToItsEnd) {
  analyze::Analysis analysis;
  EXPECT_EQ(nlohmann::json::parse(data_of(analyze::html_report(analysis, "x"))).at("unread"), "");
  analysis.note_unread("cut off");
  EXPECT_EQ(nlohmann::json::parse(data_of(analyze::html_report(analysis, "x"))).at("unread"),
            "cut off");
}

TEST(AnalyzePage, HasWhatTheJsonReportHas) {
  WireScript script;
  const auto& analysis = some_traffic(script);
  const auto page = nlohmann::json::parse(data_of(html_report(analysis, "x.pcap")));
  auto connections = page.at("connections");
  EXPECT_EQ(connections[0]["directions"][0]["trace"]["requests"]["points"].size(), 5U);
  for (auto& connection : connections) {
    for (auto& direction : connection["directions"]) direction.erase("trace");
  }
  const auto report = nlohmann::json::parse(json_report(analysis));
  EXPECT_EQ(connections, report.at("connections"));
  EXPECT_EQ(page.at("violations"), report.at("violations"));
  EXPECT_EQ(page.at("file"), "x.pcap");
}

TEST(AnalyzePage, NoNameBreaksOutOfItsData) {
  WireScript script;
  const std::string hostile = "</script><script>alert(1)</script><!--&\xff\xfe\"'\\";
  const std::string page = html_report(some_traffic(script), hostile);
  WireScript other;
  const std::string plain = html_report(some_traffic(other), "x.pcap");
  const auto count = [](const std::string& text, const std::string& word) {
    size_t found = 0;
    for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  EXPECT_EQ(count(page, "script>"), count(plain, "script>"));
  EXPECT_EQ(data_of(page).find_first_of("<>&"), std::string::npos);
  const std::string name = nlohmann::json::parse(data_of(page)).at("file");
  EXPECT_EQ(name.substr(0, 9), "</script>");
}

TEST(AnalyzePage, ConnectionsShareThePoints) {
  WireScript script;
  for (uint32_t qpn = 0; qpn < 10; ++qpn) {
    Headers headers;
    headers.bth.opcode = Opcode(Service::kRc, Operation::kSendOnly);
    headers.bth.dest_qp = Qpn(qpn + 2);
    for (uint32_t psn = 0; psn < 60; ++psn) {
      headers.bth.psn = Psn(psn);
      script.send(true, headers, 0);
    }
  }
  const auto& analysis = script.finish();
  const auto requests = [&](size_t most_points) {
    const auto page = nlohmann::json::parse(data_of(html_report(analysis, "x", most_points)));
    return page["connections"][9]["directions"][0]["trace"]["requests"];
  };
  constexpr size_t kNumbers = 5;  // for each point
  EXPECT_EQ(requests(10'000)["points"].size(), 60U * kNumbers);
  EXPECT_EQ(requests(1000)["points"].size(), 30U * kNumbers);
  EXPECT_EQ(requests(1000)["packets_per_point"], 2);
  EXPECT_EQ(requests(1)["points"].size(), 15U * kNumbers) << "never none";
}

class AnalyzeNewFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "urxe-new-file-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
  static std::string text_of(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  [[nodiscard]] size_t files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

TEST_F(AnalyzeNewFile, IsWrittenWholeAndAlone) {
  ASSERT_TRUE(analyze::check_new_file(path("new")));
  ASSERT_TRUE(analyze::write_new_file(path("new"), "some text"));
  EXPECT_EQ(text_of(path("new")), "some text");
  EXPECT_EQ(files(), 1U);
}

TEST_F(AnalyzeNewFile, NeverReplacesAnything) {
  std::ofstream(path("old")) << "precious";
  ASSERT_EQ(symlink("nowhere", path("link").c_str()), 0);
  fs::create_directory(path("folder"));
  for (const char* name : {"old", "link", "folder"}) {
    for (const auto& result :
         {analyze::check_new_file(path(name)), analyze::write_new_file(path(name), "x")}) {
      ASSERT_FALSE(result) << name;
      EXPECT_NE(result.error().find("exists"), std::string::npos) << result.error();
    }
  }
  EXPECT_EQ(text_of(path("old")), "precious");
  EXPECT_EQ(files(), 3U) << "nothing is left behind";
}

TEST_F(AnalyzeNewFile, SaysWhyItCannotBeWritten) {
  for (const std::string& name : {path("none/new"), path(""), std::string(), path("new/")}) {
    EXPECT_FALSE(analyze::check_new_file(name)) << name;
  }
  const auto result = analyze::write_new_file(path("none/new"), "x");
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().find("No such file"), std::string::npos) << result.error();
}

TEST(AnalyzeProgressBar, IsQuietForTwoSeconds) {
  analyze::ProgressBar bar(5);
  EXPECT_EQ(bar.draw({1, 10, 100}, 5), "");
  EXPECT_EQ(bar.draw({2, 20, 100}, 5 + analyze::ProgressBar::kQuietNs - 1), "");
  EXPECT_EQ(bar.erase(), "");
  EXPECT_NE(bar.draw({3, 30, 100}, 5 + analyze::ProgressBar::kQuietNs), "");
  EXPECT_NE(bar.erase(), "");
}

TEST(AnalyzeProgressBar, SaysHowMuchIsDoneAndWhatIsLeft) {
  analyze::ProgressBar bar(0);
  const std::string text = bar.draw({1234, 25, 100}, 3'000'000'000);
  EXPECT_NE(text.find("[#######-----------------------]  25 %, 1234 frames, 9 s left"),
            std::string::npos)
      << text;
  EXPECT_EQ(bar.draw({1235, 26, 100}, 3'050'000'000), "") << "ten times a second";
  EXPECT_NE(bar.draw({1236, 27, 100}, 3'100'000'000), "");
}

TEST(AnalyzeProgressBar, OfAPipeOnlyFramesAreKnown) {
  analyze::ProgressBar bar(0);
  EXPECT_EQ(bar.draw({7, 100, 0}, 3'000'000'000), "\r\x1b[K7 frames");
}

TEST(AnalyzeProgressBar, AFileThatGrowsIsAtMostRead) {
  analyze::ProgressBar bar(0);
  const std::string text = bar.draw({7, 300, 100}, 3'000'000'000);
  EXPECT_NE(text.find("] 100 %, 7 frames, 0 s left"), std::string::npos) << text;
}

}  // namespace
}  // namespace urxe::test
