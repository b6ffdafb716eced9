// SPDX-License-Identifier: BSD-2-Clause
#include "tools/elf_file.h"

#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>

namespace urxe {
namespace {

/// More is no table of a sane file.
constexpr uint64_t kMostBytes = uint64_t{1} << 24;

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

}  // namespace

std::vector<std::string> needed_libraries(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  std::ifstream file(path, std::ios::binary);
  const auto header = read_at<Elf64_Ehdr>(file, 0, 1);
  if (!header || std::memcmp(header->front().e_ident, ELFMAG, SELFMAG) != 0 ||
      header->front().e_ident[EI_CLASS] != ELFCLASS64 ||
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

}  // namespace urxe
