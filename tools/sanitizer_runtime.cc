// SPDX-License-Identifier: BSD-2-Clause
#include "tools/sanitizer_runtime.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

namespace urxe {
namespace {

/// As many interpreters as the kernel follows.
constexpr int kMostInterpreters = 5;
/// More is no table of a sane file.
constexpr uint64_t kMostBytes = uint64_t{1} << 24;

constexpr std::array<std::string_view, 6> kRuntimes{"libasan.so",        "libtsan.so",
                                                    "liblsan.so",        "libhwasan.so",
                                                    "libclang_rt.asan-", "libclang_rt.tsan-"};

bool is_runtime(std::string_view name) {
  return std::ranges::any_of(kRuntimes, [&](std::string_view it) { return name.starts_with(it); });
}

/// A range of the file; nullopt: it is not all there.
template <class T>
std::optional<std::vector<T>> read_at(std::ifstream& file, uint64_t offset, uint64_t count) {
  if (count > kMostBytes / sizeof(T)) return std::nullopt;
  std::vector<T> result(count);
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(result.data()),
            static_cast<std::streamsize>(count * sizeof(T)));
  if (!file) return std::nullopt;
  return result;
}

/// Where the file has what will be mapped at `address`.
std::optional<uint64_t> offset_of(const std::vector<Elf64_Phdr>& segments, uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz) {
      return segment.p_offset + (address - segment.p_vaddr);
    }
  }
  return std::nullopt;
}

/// The names of the libraries that the file needs.
std::vector<std::string> needed_libraries(std::ifstream& file) {
  const auto header = read_at<Elf64_Ehdr>(file, 0, 1);
  if (!header || header->front().e_ident[EI_CLASS] != ELFCLASS64 ||
      header->front().e_phentsize != sizeof(Elf64_Phdr)) {
    return {};
  }
  const auto segments = read_at<Elf64_Phdr>(file, header->front().e_phoff, header->front().e_phnum);
  if (!segments) return {};
  const auto dynamic = std::ranges::find(*segments, Elf64_Word{PT_DYNAMIC}, &Elf64_Phdr::p_type);
  if (dynamic == segments->end()) return {};
  const auto entries =
      read_at<Elf64_Dyn>(file, dynamic->p_offset, dynamic->p_filesz / sizeof(Elf64_Dyn));
  if (!entries) return {};
  const auto value_of = [&](Elf64_Sxword tag) -> uint64_t {
    const auto found = std::ranges::find(*entries, tag, &Elf64_Dyn::d_tag);
    return found != entries->end() ? found->d_un.d_val : 0;
  };
  const auto strings_at = offset_of(*segments, value_of(DT_STRTAB));
  if (!strings_at) return {};
  const auto strings = read_at<char>(file, *strings_at, value_of(DT_STRSZ));
  if (!strings || strings->empty() || strings->back() != '\0') return {};
  std::vector<std::string> names;
  for (const Elf64_Dyn& entry : *entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED && entry.d_un.d_val < strings->size()) {
      names.emplace_back(strings->data() + entry.d_un.d_val);
    }
  }
  return names;
}

/// Where execvp() finds the program.
std::string resolve(const std::string& program) {
  const char* path = std::getenv("PATH");
  if (program.find('/') != std::string::npos || path == nullptr) return program;
  std::istringstream directories(path);
  for (std::string directory; std::getline(directories, directory, ':');) {
    std::string candidate = (directory.empty() ? "." : directory) + "/" + program;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return program;
}

/// What the script's first line names: for "#!/usr/bin/env python3" python3, as env does.
std::string interpreter_of(std::ifstream& script) {
  script.clear();
  script.seekg(2);
  std::string line;
  std::getline(script, line);
  std::istringstream words(line);
  std::string interpreter;
  words >> interpreter;
  if (!interpreter.ends_with("/env")) return interpreter;
  std::string word;
  while (words >> word) {
    if (!word.starts_with('-') && word.find('=') == std::string::npos) return resolve(word);
  }
  return interpreter;
}

}  // namespace

std::string find_sanitizer_runtime(const std::string& program) {
  std::string path = resolve(program);
  for (int i = 0; i < kMostInterpreters; ++i) {
    std::ifstream file(path, std::ios::binary);
    char start[4] = {};
    file.read(start, sizeof start);
    const std::string_view magic(start, static_cast<size_t>(file.gcount()));
    if (magic == ELFMAG) {
      const auto names = needed_libraries(file);
      const auto found = std::ranges::find_if(names, is_runtime);
      return found != names.end() ? *found : "";
    }
    if (!magic.starts_with("#!")) return "";
    path = interpreter_of(file);
  }
  return "";
}

}  // namespace urxe
