// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/device/config.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "provider/presence/presence_abi.h"

namespace urxe {
namespace {

std::string environment(const char* name) {
  const char* value = secure_getenv(name);
  return value != nullptr ? value : "";
}

std::string find_tree() {
  if (void* symbol = dlsym(RTLD_DEFAULT, "urxe_presence_v1")) {
    const urxe_presence* presence = reinterpret_cast<urxe_presence_v1_function>(symbol)();
    if (presence->tree != nullptr) return presence->tree;
  }
  return environment("URXE_TREE");
}

std::optional<FaultPlan> find_fault_plan() {
  const std::string text = environment("URXE_FAULTS");
  if (text.empty()) return std::nullopt;
  auto plan = parse_fault_plan(text);
  if (plan) return *plan;
  print_error("URXE_FAULTS is ignored: " + plan.error());
  return std::nullopt;
}

}  // namespace

// Never destroyed: threads and exit handlers may still ask.
const std::string& device_tree() {
  static const auto* const tree = new std::string(find_tree());
  return *tree;
}

const std::string& capture_path() {
  static const auto* const path = new std::string(environment("URXE_CAPTURE"));
  return *path;
}

const std::optional<FaultPlan>& fault_plan() {
  static const auto* const plan = new std::optional<FaultPlan>(find_fault_plan());
  return *plan;
}

void print_error(const std::string& text) noexcept {
  int saved = errno;
  char prefix[] = "urxe: ";
  char newline[] = "\n";
  iovec parts[] = {{prefix, sizeof prefix - 1},
                   {const_cast<char*>(text.data()), text.size()},
                   {newline, sizeof newline - 1}};
  // Nothing is to be done where stderr is closed.
  [[maybe_unused]] ssize_t written = writev(STDERR_FILENO, parts, 3);
  errno = saved;
}

}  // namespace urxe
