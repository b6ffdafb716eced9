// SPDX-License-Identifier: BSD-2-Clause
#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "tools/doctor/env_arguments.h"
#include "tools/doctor/libibverbs.h"
#include "tools/doctor/obstacle.h"
#include "tools/doctor/program.h"
#include "tools/elf_file.h"

namespace urxe::doctor {
namespace {

LibibverbsFacts debian_12() {
  return {.load_error = "",
          .path = "/usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0",
          .private_abi = 34,
          .provider = "/lib/liburxe-rdmav34.so",
          .provider_lack = ""};
}

ProgramFacts dynamic_program() {
  return {.name = "prog",
          .path = "/bin/prog",
          .lack = "",
          .is_elf = true,
          .is_native = true,
          .loader = "/lib64/ld-linux-x86-64.so.2",
          .is_loader = false,
          .is_secure = false,
          .is_emptied = false};
}

TEST(DoctorLibibverbs, ReadsTheReleaseFromTheFileName) {
  EXPECT_EQ(release_of("/usr/lib/libibverbs.so.1.14.44.0"), "44");
  EXPECT_EQ(release_of("/opt/my.so.dir/libibverbs.so.1.15.56.1"), "56");
  EXPECT_EQ(release_of("/usr/lib/libibverbs.so.1"), "");
  EXPECT_EQ(release_of("libibverbs"), "");
  EXPECT_EQ(release_of(""), "");
}

TEST(DoctorLibibverbs, IsFineIfItIsServed) {
  EXPECT_EQ(judge_libibverbs(debian_12()),
            ok("libibverbs", "44 (private ABI 34), served by /lib/liburxe-rdmav34.so"));
}

TEST(DoctorLibibverbs, ALibraryOfNoServedReleaseIsAProblem) {
  LibibverbsFacts facts = debian_12();
  facts.private_abi = 66;
  const Finding finding = judge_libibverbs(facts);
  EXPECT_EQ(finding.level, Level::kProblem);
  EXPECT_NE(finding.what.find("private ABI 66"), std::string::npos);
  EXPECT_NE(finding.advice.find("36 to 65"), std::string::npos);
  facts.private_abi = 0;
  EXPECT_EQ(judge_libibverbs(facts).level, Level::kProblem);
}

TEST(DoctorLibibverbs, TheLackOfEitherIsAProblem) {
  LibibverbsFacts facts = debian_12();
  facts.provider_lack = "libisal.so.2: cannot open shared object file";
  EXPECT_EQ(judge_libibverbs(facts).level, Level::kProblem);
  EXPECT_NE(judge_libibverbs(facts).what.find("libisal.so.2"), std::string::npos);
  facts.load_error = "libibverbs.so.1: cannot open shared object file";
  EXPECT_NE(judge_libibverbs(facts).what.find("libibverbs.so.1"), std::string::npos);
}

TEST(DoctorProgram, LooksIntoFilesOfThisMachine) {
  const ProgramFacts self = read_program("/proc/self/exe");
  EXPECT_EQ(self.lack, "");
  EXPECT_TRUE(self.is_elf);
  EXPECT_TRUE(self.is_native);
  EXPECT_FALSE(self.is_secure);
  EXPECT_NE(self.loader, "");
  EXPECT_EQ(judge_program(self).level, Level::kOk);
}

TEST(DoctorProgram, ADynamicLinkerIsNoStaticProgram) {
  const std::string linker = read_program("/proc/self/exe").loader;
  const ProgramFacts facts = read_program(linker, {"/bin/true"});
  EXPECT_TRUE(facts.is_loader);
  EXPECT_EQ(judge_program(facts).level, Level::kOk);
  EXPECT_EQ(judge_obstacle(facts, debian_12()), "");
  EXPECT_FALSE(read_program("/proc/self/exe").is_loader);
}

TEST(DoctorProgram, ALinkerOfMuslsLoadsNoProgramThatSeesTheDevices) {
  ProgramFacts musl = dynamic_program();
  musl.is_loader = true;
  musl.loader = "/lib/ld-musl-x86_64.so.1";
  EXPECT_NE(judge_program(musl).what.find("musl"), std::string::npos);
  musl.loader = "";  // It only lists what it would load.
  EXPECT_EQ(judge_program(musl).level, Level::kOk);
}

TEST(DoctorProgram, TellsWhatCannotBeRead) {
  EXPECT_NE(read_program("/nonexistent").lack, "");
  EXPECT_NE(read_program("/dev/null").lack, "");
  EXPECT_NE(read_program("/tmp").lack, "");
  EXPECT_EQ(judge_program(read_program("/nonexistent")).level, Level::kProblem);
}

TEST(DoctorProgram, NothingIsPreloadedIntoSomePrograms) {
  EXPECT_EQ(judge_program(dynamic_program()).level, Level::kOk);
  ProgramFacts statically = dynamic_program();
  statically.loader = "";
  EXPECT_NE(judge_program(statically).what.find("statically"), std::string::npos);
  ProgramFacts secure = dynamic_program();
  secure.is_secure = true;
  EXPECT_NE(judge_program(secure).what.find("gains rights"), std::string::npos);
  ProgramFacts foreign = dynamic_program();
  foreign.is_native = false;
  EXPECT_NE(judge_program(foreign).what.find("another machine"), std::string::npos);
  ProgramFacts musl = dynamic_program();
  musl.loader = "/lib/ld-musl-x86_64.so.1";
  EXPECT_NE(judge_program(musl).what.find("musl"), std::string::npos);
  ProgramFacts sudo = dynamic_program();
  sudo.path = "/usr/bin/sudo";
  sudo.is_secure = true;
  EXPECT_NE(judge_program(sudo).what.find("clears the environment"), std::string::npos);
  for (const auto& facts : {statically, secure, foreign, musl, sudo}) {
    EXPECT_EQ(judge_program(facts).level, Level::kProblem);
  }
  ProgramFacts text = dynamic_program();
  text.is_elf = false;
  EXPECT_EQ(judge_program(text).level, Level::kNote);
}

TEST(DoctorProgram, EnvMayClearTheEnvironment) {
  using Words = std::vector<std::string>;
  for (const Words& words :
       {Words{"-i", "prog"}, Words{"-", "prog"}, Words{"--ignore-environment", "A=b", "prog"},
        Words{"-vi", "prog", "x"}, Words{"-u", "A", "-i", "prog"},
        Words{"-iu", "A", "--", "prog"}}) {
    EXPECT_EQ(judge_program(read_program("env", words)).level, Level::kProblem);
    EXPECT_TRUE(env_clears(words)) << words[0];
  }
  for (const Words& words :
       {Words{}, Words{"-i"}, Words{"prog", "-i"}, Words{"A=b", "prog", "-i"},
        Words{"-u", "-i", "prog"}, Words{"-ui", "prog"}, Words{"-i", "LD_PRELOAD=x", "prog"},
        Words{"-S", "-i", "prog"}, Words{"--", "prog", "-i"}, Words{"-i", "A=b"}}) {
    EXPECT_FALSE(env_clears(words));
  }
  EXPECT_EQ(judge_program(read_program("/bin/sh", {"-i", "prog"})).level, Level::kOk);
}

TEST(DoctorProgram, EnvInTheFirstLineOfAScript) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(env_arguments_of(" python3"), Words{"python3"});
  EXPECT_EQ(env_arguments_of(" -S -u VAR prog x"), (Words{"-u", "VAR", "prog", "x"}));
  EXPECT_EQ(env_arguments_of(" -vS-i prog"), (Words{"-v", "-i", "prog"}));
  EXPECT_EQ(env_arguments_of(" --split-string=-i prog"), (Words{"-i", "prog"}));
  EXPECT_EQ(env_arguments_of(""), Words{});
  EXPECT_EQ(env_program_at({"-u", "VAR", "prog", "x"}), 2U);
  EXPECT_EQ(env_program_at({"-i", "A=b", "prog"}), 2U);
  EXPECT_EQ(env_program_at({"-u"}), 1U);
  const std::string path = testing::TempDir() + "env_script." + std::to_string(getpid());
  const auto judge = [&](const std::string& line) {
    std::ofstream(path) << line << "\n";
    return judge_program(read_program(path));
  };
  EXPECT_EQ(judge("#!/usr/bin/env -S -u VAR sh").level, Level::kOk);
  EXPECT_EQ(judge("#!/usr/bin/env sh").level, Level::kOk);
  EXPECT_EQ(judge("#!/bin/sh -i").level, Level::kOk);
  EXPECT_EQ(judge("#!/usr/bin/env -S -i sh").level, Level::kProblem);
  EXPECT_EQ(judge("#!/usr/bin/env -S -u VAR -i A=b sh").level, Level::kProblem);
  std::remove(path.c_str());
}

class SharedObject : public testing::Test {
 protected:
  ~SharedObject() override { std::remove(path_.c_str()); }

  std::string damage_after(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    return damage_of_shared_object(path_);
  }

  /// A copy of a library that this program has loaded.
  static std::string library() {
    Dl_info found{};
    dladdr(dlsym(RTLD_DEFAULT, "getpid"), &found);
    std::ifstream file(found.dli_fname, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string path_ = testing::TempDir() + "urxe_shared_object_" + std::to_string(getpid());
};

TEST_F(SharedObject, DamageIsTold) {
  const std::string whole = library();
  ASSERT_GT(whole.size(), 100000U);
  EXPECT_EQ(damage_after(whole), "");
  EXPECT_EQ(damage_after(""), "it is no ELF file");
  EXPECT_EQ(damage_after("garbage"), "it is no ELF file");
  EXPECT_EQ(damage_after(std::string(100000, 'x')), "it is no ELF file");
  EXPECT_EQ(damage_after(whole.substr(0, 63)), "it is no ELF file");
  for (const size_t size : {size_t{64}, size_t{100}, size_t{20000}, whole.size() / 2}) {
    EXPECT_EQ(damage_after(whole.substr(0, size)), "its end is missing") << size;
  }
  std::string foreign = whole;
  foreign[offsetof(Elf64_Ehdr, e_machine)] ^= 1;
  EXPECT_EQ(damage_after(foreign), "it is no shared object of this machine");
  std::string absurd = whole;
  std::memset(absurd.data() + sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_offset), 0xff, 8);
  EXPECT_EQ(damage_after(absurd), "its end is missing");
  EXPECT_EQ(damage_of_shared_object("/nonexistent"), "No such file or directory");
  EXPECT_EQ(damage_of_shared_object("/dev/null"), "it is no regular file");
}

TEST(DoctorObstacle, IsOneLine) {
  ProgramFacts statically = dynamic_program();
  statically.loader = "";
  const std::string line = judge_obstacle(statically, debian_12());
  EXPECT_TRUE(line.starts_with("program: prog (/bin/prog) is linked statically")) << line;
  EXPECT_EQ(line.find('\n'), std::string::npos);
  LibibverbsFacts without = debian_12();
  without.load_error = "libibverbs.so.1: cannot open shared object file";
  EXPECT_TRUE(judge_obstacle(dynamic_program(), without).starts_with("libibverbs: cannot be"));
}

TEST(DoctorObstacle, IsSilentAboutWhatOthersTell) {
  EXPECT_EQ(judge_obstacle(dynamic_program(), debian_12()), "");
  ProgramFacts absent = dynamic_program();
  absent.lack = "No such file or directory";
  EXPECT_EQ(judge_obstacle(absent, debian_12()), "");
  LibibverbsFacts later = debian_12();
  later.private_abi = 66;
  EXPECT_EQ(judge_obstacle(dynamic_program(), later), "");
  later.provider_lack = "No such file or directory";
  EXPECT_NE(judge_obstacle(dynamic_program(), later), "");
}

}  // namespace
}  // namespace urxe::doctor
