// SPDX-License-Identifier: BSD-2-Clause
// Drives a libFuzzer target without libFuzzer: NAME [-runs=N] CORPUS_FOLDER_OR_FILE...
// Runs every file, then N mutations of them, the same ones each time. A failing input is written to
// the file crash-input in the working directory before the target sees it.

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Input = std::vector<uint8_t>;

constexpr size_t kMaxInput = 8192;

const Input* current = nullptr;  // for the signal handler

void keep_failing_input(int signal_number) {
  if (current != nullptr) {
    const int fd = open("crash-input", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd >= 0 && write(fd, current->data(), current->size()) >= 0) {
      constexpr std::string_view kNotice = "failing input written to crash-input\n";
      if (write(2, kNotice.data(), kNotice.size()) < 0) _exit(1);
    }
  }
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

void run(const Input& input) {
  current = &input;
  // A copy of just its size, so that a sanitizer sees every read beyond it.
  const auto exact = std::make_unique<uint8_t[]>(input.size());
  std::copy(input.begin(), input.end(), exact.get());
  LLVMFuzzerTestOneInput(exact.get(), input.size());
}

Input read_input(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::filesystem::path> files_of(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class Mutator {
 public:
  explicit Mutator(const std::vector<Input>& corpus) : corpus_(corpus) {}

  Input next() {
    Input input = corpus_[below(corpus_.size())];
    for (size_t changes = 1 + below(4); changes > 0; --changes) change(input);
    if (input.size() > kMaxInput) input.resize(kMaxInput);
    return input;
  }

 private:
  size_t below(size_t bound) { return random_() % std::max<size_t>(bound, 1); }

  void change(Input& input) {
    constexpr std::array<uint8_t, 6> kEdges = {0, 1, 0x7f, 0x80, 0xfe, 0xff};
    const auto at = static_cast<std::ptrdiff_t>(below(input.size()));
    switch (below(6)) {
      case 0:
        if (!input.empty()) input[at] ^= static_cast<uint8_t>(1U << below(8));
        break;
      case 1:
        if (!input.empty()) input[at] = kEdges.at(below(kEdges.size()));
        break;
      case 2:
        if (!input.empty()) input[at] = static_cast<uint8_t>(random_());
        break;
      case 3:
        input.resize(below(input.size() + 1));
        break;
      case 4:
        input.insert(input.begin() + at, 1 + below(8), static_cast<uint8_t>(random_()));
        break;
      default:
        splice(input, at);
        break;
    }
  }

  void splice(Input& input, std::ptrdiff_t at) {
    const Input& other = corpus_[below(corpus_.size())];
    const auto from = static_cast<std::ptrdiff_t>(below(other.size()));
    input.resize(static_cast<size_t>(at));
    input.insert(input.end(), other.begin() + from, other.end());
  }

  const std::vector<Input>& corpus_;
  std::mt19937 random_{1};
};

}  // namespace

int main(int argc, char** argv) {
  unsigned long runs = 0;
  std::vector<Input> corpus;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.substr(0, 6) == "-runs=") {
      runs = std::strtoul(argv[i] + 6, nullptr, 10);
      continue;
    }
    for (const auto& path : files_of(argv[i])) corpus.push_back(read_input(path));
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "usage: %s [-runs=N] CORPUS...; no input found\n", argv[0]);
    return 2;
  }
  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    signal(number, keep_failing_input);
  }
  for (const Input& input : corpus) run(input);
  Mutator mutator(corpus);
  for (unsigned long i = 0; i < runs; ++i) run(mutator.next());
  std::printf("%zu corpus files and %lu mutations\n", corpus.size(), runs);
  return 0;
}
