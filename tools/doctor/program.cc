// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/program.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include "tools/doctor/env_arguments.h"
#include "tools/elf_file.h"
#include "tools/program_file.h"

namespace urxe::doctor {
namespace {

constexpr const char* kProgramCheck = "program";
/// More is no path.
constexpr uint64_t kMostPathBytes = 4096;
/// They start other programs, without the variables that they do not know.
constexpr std::array<std::string_view, 3> kClearing{"sudo", "doas", "pkexec"};

template <class T>
bool read_at(std::ifstream& file, uint64_t offset, T& value) {
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  return static_cast<bool>(file.read(reinterpret_cast<char*>(&value), sizeof value));
}

bool read_header(std::ifstream& file, Elf64_Ehdr& header) {
  return read_at(file, 0, header) && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
}

/// Those of this program.
bool has_our_machine(const Elf64_Ehdr& header) {
  std::ifstream self("/proc/self/exe", std::ios::binary);
  Elf64_Ehdr own{};
  return !read_header(self, own) ||
         (own.e_machine == header.e_machine && own.e_ident[EI_CLASS] == header.e_ident[EI_CLASS]);
}

/// The path in the segment PT_INTERP.
std::string read_loader(std::ifstream& file, const Elf64_Ehdr& header) {
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!read_at(file, header.e_phoff + i * sizeof segment, segment)) return "";
    if (segment.p_type != PT_INTERP || segment.p_filesz > kMostPathBytes) continue;
    std::string loader(segment.p_filesz, '\0');
    file.seekg(static_cast<std::streamoff>(segment.p_offset));
    file.read(loader.data(), static_cast<std::streamsize>(loader.size()));
    return loader.substr(0, loader.find('\0'));
  }
  return "";
}

/// Whether the kernel tells the dynamic linker to distrust the environment (AT_SECURE).
bool gains_rights(const std::string& path, const struct stat& status) {
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid()) return true;
  if ((status.st_mode & S_ISGID) != 0 && status.st_gid != getegid()) return true;
  return getuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string described(const ProgramFacts& facts) {
  return facts.path == facts.name ? facts.name : facts.name + " (" + facts.path + ")";
}

}  // namespace

ProgramFacts read_program(const std::string& name, const std::vector<std::string>& arguments) {
  ProgramFacts facts;
  facts.name = name;
  facts.is_emptied = base_name(name) == "env" && env_clears(arguments);
  facts.first_line_empties = env_clears_for(name);
  facts.path = executed_file(name);
  struct stat status {};
  if (stat(facts.path.c_str(), &status) != 0 || access(facts.path.c_str(), R_OK) != 0) {
    facts.lack = std::strerror(errno);
    return facts;
  }
  if (!S_ISREG(status.st_mode)) {
    facts.lack = "not a regular file";
    return facts;
  }
  std::ifstream file(facts.path, std::ios::binary);
  facts.is_secure = gains_rights(facts.path, status);
  Elf64_Ehdr header{};
  facts.is_elf = read_header(file, header);
  if (!facts.is_elf) return facts;
  facts.is_native = has_our_machine(header);
  if (!facts.is_native) return facts;
  facts.loader = read_loader(file, header);
  facts.is_loader = is_dynamic_linker(facts.path);
  // Asked what it would load, it starts nothing.
  const bool lists = !arguments.empty() && arguments.front() == "--list";
  if (facts.is_loader && !lists) facts.loader = facts.path;
  return facts;
}

Finding judge_program(const ProgramFacts& facts) {
  const std::string program = described(facts);
  if (!facts.lack.empty()) {
    return problem(kProgramCheck, program + " cannot be read: " + facts.lack,
                   "give a program that can be run, by its name in PATH or its path");
  }
  if (std::ranges::find(kClearing, base_name(facts.path)) != kClearing.end()) {
    return problem(kProgramCheck,
                   program + " clears the environment, so what it starts sees no devices",
                   "write `sudo urxe run -- PROG`, not `urxe run -- sudo PROG`");
  }
  if (facts.first_line_empties) {
    return problem(kProgramCheck,
                   facts.name +
                       " is a script for which env clears the environment (-i in its first line), "
                       "so it sees no devices",
                   "take -i out of its first line");
  }
  if (facts.is_emptied) {
    return problem(kProgramCheck,
                   program +
                       " is asked to clear the environment (-i), so what it starts sees no "
                       "devices",
                   "write `env -i PATH=\"$PATH\" urxe run -- PROG`, not `urxe run -- env -i PROG`");
  }
  if (facts.is_secure) {
    return problem(kProgramCheck,
                   program +
                       " gains rights when it starts (set-user-ID, set-group-ID or file "
                       "capabilities), so nothing is preloaded into it and it sees no devices",
                   "run a copy of it without these bits, started by a user that has the rights");
  }
  if (!facts.is_elf)
    return note(kProgramCheck, program + " is no ELF file, so it was not looked into");
  if (!facts.is_native) {
    return problem(kProgramCheck, program + " is for another machine or word size than urxe",
                   "use a program, and a urxe, of one kind");
  }
  if (facts.loader.empty() && !facts.is_loader) {
    return problem(kProgramCheck,
                   program +
                       " is linked statically, so nothing is preloaded into it and it sees "
                       "no devices",
                   "link it dynamically with libc and libibverbs");
  }
  if (base_name(facts.loader).starts_with("ld-musl")) {
    return problem(kProgramCheck,
                   program + " uses musl's libc, and urxe's objects glibc's, so it sees no devices",
                   "use a program that is built for glibc");
  }
  if (facts.is_loader) {
    return ok(kProgramCheck,
              program + " is a dynamic linker: `--program PROG` looks into a program");
  }
  return ok(kProgramCheck, program + " is linked dynamically and gains no rights");
}

}  // namespace urxe::doctor
