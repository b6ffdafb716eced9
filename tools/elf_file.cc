// SPDX-License-Identifier: BSD-2-Clause
#include "tools/elf_file.h"

#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
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

std::optional<Elf64_Ehdr> read_header(std::ifstream& file) {
  const auto header = read_at<Elf64_Ehdr>(file, 0, 1);
  if (!header || std::memcmp(header->front().e_ident, ELFMAG, SELFMAG) != 0 ||
      header->front().e_ident[EI_CLASS] != ELFCLASS64 ||
      header->front().e_phentsize != sizeof(Elf64_Phdr)) {
    return std::nullopt;
  }
  return header->front();
}

std::optional<std::vector<Elf64_Phdr>> read_segments(std::ifstream& file,
                                                     const Elf64_Ehdr& header) {
  return read_at<Elf64_Phdr>(file, header.e_phoff, header.e_phnum);
}

/// How long the file must be for its segments; 0: a number in them is absurd.
uint64_t end_of(const std::vector<Elf64_Phdr>& segments) {
  uint64_t end = 0;
  for (const Elf64_Phdr& segment : segments) {
    uint64_t segment_end = 0;
    if (__builtin_add_overflow(segment.p_offset, segment.p_filesz, &segment_end)) return 0;
    end = std::max(end, segment_end);
  }
  return end;
}

using Dynamic = std::vector<Elf64_Dyn>;

std::optional<Dynamic> read_dynamic(std::ifstream& file, const std::vector<Elf64_Phdr>& segments) {
  const auto found = std::ranges::find(segments, Elf64_Word{PT_DYNAMIC}, &Elf64_Phdr::p_type);
  if (found == segments.end()) return std::nullopt;
  return read_at<Elf64_Dyn>(file, found->p_offset, found->p_filesz / sizeof(Elf64_Dyn));
}

/// 0: there is no such entry.
uint64_t value_of(const Dynamic& entries, Elf64_Sxword tag) {
  const auto found = std::ranges::find(entries, tag, &Elf64_Dyn::d_tag);
  return found != entries.end() ? found->d_un.d_val : 0;
}

bool has_our_kind(const Elf64_Ehdr& header) {
  std::ifstream self("/proc/self/exe", std::ios::binary);
  const auto own = read_header(self);
  return header.e_type == ET_DYN && (!own || own->e_machine == header.e_machine);
}

}  // namespace

std::string damage_of_shared_object(const std::string& path) {
  struct stat status {};
  std::ifstream file(path, std::ios::binary);
  if (!file || stat(path.c_str(), &status) != 0) return std::strerror(errno);
  if (!S_ISREG(status.st_mode)) return "it is no regular file";
  const auto header = read_header(file);
  if (!header) return "it is no ELF file";
  if (!has_our_kind(*header)) return "it is no shared object of this machine";
  const auto segments = read_segments(file, *header);
  const uint64_t end = segments ? end_of(*segments) : 0;
  if (end == 0 || end > static_cast<uint64_t>(status.st_size)) return "its end is missing";
  return "";
}

std::vector<std::string> needed_libraries(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  std::ifstream file(path, std::ios::binary);
  const auto header = read_header(file);
  if (!header) return {};
  const auto segments = read_segments(file, *header);
  if (!segments) return {};
  const auto entries = read_dynamic(file, *segments);
  if (!entries) return {};
  const auto strings_at = offset_of(*segments, value_of(*entries, DT_STRTAB));
  if (!strings_at) return {};
  const auto strings = read_at<char>(file, *strings_at, value_of(*entries, DT_STRSZ));
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

bool is_dynamic_linker(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const auto header = read_header(file);
  if (!header || header->e_type != ET_DYN) return false;
  const auto segments = read_segments(file, *header);
  if (!segments) return false;
  const bool asks_for_one = std::ranges::any_of(
      *segments, [](const Elf64_Phdr& segment) { return segment.p_type == PT_INTERP; });
  const auto entries = read_dynamic(file, *segments);
  return !asks_for_one && entries && (value_of(*entries, DT_FLAGS_1) & DF_1_PIE) == 0;
}

}  // namespace urxe
