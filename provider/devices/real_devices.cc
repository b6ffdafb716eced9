// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/real_devices.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace urxe {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> list_directory(const std::string& path) {
  std::vector<std::string> names;
  std::error_code failed;
  fs::directory_iterator at(path, failed);
  for (; !failed && at != fs::directory_iterator(); at.increment(failed)) {
    names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool RealDevices::has_uverbs(unsigned number) const {
  std::string name = "uverbs" + std::to_string(number);
  return contains(verbs, name) || contains(nodes, name);
}

bool RealDevices::has_umad(unsigned number) const {
  const std::string name = "umad" + std::to_string(number);
  return contains(mads, name) || contains(nodes, name);
}

RealDevices find_real_devices(const std::string& root) {
  RealDevices real;
  real.root = root;
  real.devices = list_directory(root + "/sys/class/infiniband");
  real.verbs = list_directory(root + "/sys/class/infiniband_verbs");
  real.nodes = list_directory(root + "/dev/infiniband");
  real.mads = list_directory(root + "/sys/class/infiniband_mad");
  std::erase(real.verbs, "abi_version");
  std::erase(real.mads, "abi_version");
  std::ifstream(root + "/sys/class/infiniband_verbs/abi_version") >> real.abi_version;
  std::ifstream(root + "/sys/class/infiniband_mad/abi_version") >> real.mad_abi_version;
  return real;
}

}  // namespace urxe
