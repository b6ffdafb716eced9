// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/libibverbs.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "provider/devices/identity.h"
#include "tools/elf_file.h"

namespace urxe::doctor {
namespace {

constexpr const char* kLibibverbsCheck = "libibverbs";
/// Numbers follow the releases of rdma-core, of which there are some four a year.
constexpr int kLastAbi = 199;

int find_private_abi(void* handle) {
  for (int abi = kLastAbi; abi > 0; --abi) {
    const std::string function = fmt::format("verbs_register_driver_{}", abi);
    const std::string version = fmt::format("IBVERBS_PRIVATE_{}", abi);
    if (dlvsym(handle, function.c_str(), version.c_str()) != nullptr) return abi;
  }
  return 0;
}

std::string path_of(void* handle) {
  const link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) return "";
  std::error_code failed;
  const auto path = std::filesystem::canonical(map->l_name, failed);
  return failed ? map->l_name : path.string();
}

/// Why the provider cannot be loaded; empty: it can. It is not loaded itself, for it would register
/// with the library.
std::string lack_of(const std::string& provider) {
  if (std::string damage = damage_of_shared_object(provider); !damage.empty()) return damage;
  for (const std::string& needed : needed_libraries(provider)) {
    if (dlopen(needed.c_str(), RTLD_LAZY | RTLD_LOCAL) != nullptr) continue;
    const char* const why = dlerror();
    return why != nullptr ? why : needed;
  }
  return "";
}

/// "44 (private ABI 34)".
std::string describe(const LibibverbsFacts& facts) {
  const std::string release = release_of(facts.path);
  return fmt::format("{} (private ABI {})", release.empty() ? facts.path : release,
                     facts.private_abi);
}

}  // namespace

std::string release_of(const std::string& path) {
  constexpr size_t kReleaseIsNumber = 2;  // behind ".so."
  const size_t start = path.rfind(".so.");
  if (start == std::string::npos) return "";
  std::vector<std::string> numbers(1);
  for (const char c : path.substr(start + 4)) {
    if (c == '.') {
      numbers.emplace_back();
    } else {
      numbers.back() += c;
    }
  }
  return numbers.size() > kReleaseIsNumber ? numbers[kReleaseIsNumber] : "";
}

LibibverbsFacts read_libibverbs(const std::string& libraries) {
  LibibverbsFacts facts;
  void* const handle = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = dlerror();
    facts.load_error = why != nullptr ? why : "unknown error";
    return facts;
  }
  facts.path = path_of(handle);
  facts.private_abi = find_private_abi(handle);
  facts.provider = fmt::format("{}/liburxe-rdmav{}.so", libraries, facts.private_abi);
  facts.provider_lack = lack_of(facts.provider);
  return facts;
}

Finding judge_libibverbs(const LibibverbsFacts& facts) {
  if (!facts.load_error.empty()) {
    return problem(kLibibverbsCheck, "cannot be loaded: " + facts.load_error,
                   "install it (Debian: apt-get install libibverbs1); a program that brings its "
                   "own does without");
  }
  const std::string advice = std::string("run programs with a libibverbs of ") + kServedLibraries;
  if (facts.private_abi == 0) {
    return problem(kLibibverbsCheck, facts.path + " has no private ABI that urxe knows", advice);
  }
  if (std::ranges::find(kServedAbis, facts.private_abi) == kServedAbis.end()) {
    return problem(kLibibverbsCheck, describe(facts) + " is of no release that urxe serves",
                   advice);
  }
  if (!facts.provider_lack.empty()) {
    return problem(kLibibverbsCheck,
                   fmt::format("{}, whose provider {} cannot be loaded: {}", describe(facts),
                               facts.provider, facts.provider_lack),
                   "install urxe, or build it, as a whole, with the libraries that it needs");
  }
  return ok(kLibibverbsCheck, describe(facts) + ", served by " + facts.provider);
}

}  // namespace urxe::doctor
