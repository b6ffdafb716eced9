// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/interface_sysfs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

namespace urxe {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> read_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line)) return std::nullopt;
  return line;
}

std::optional<int> to_int(std::string_view text) {
  int value = 0;
  auto [end, error_code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error_code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int> read_int(const fs::path& path) {
  auto line = read_line(path);
  return line ? to_int(*line) : std::nullopt;
}

/// Reads the attributes of the device or of a parent: a virtio interface belongs to a PCI device.
void read_hardware(const fs::path& interface, InterfacePlace& place) {
  std::error_code failed;
  fs::path at = fs::canonical(interface / "device", failed);
  if (failed) return;
  for (int level = 0; level < 3 && at.has_relative_path(); ++level, at = at.parent_path()) {
    auto numa_node = read_int(at / "numa_node");
    if (!numa_node) continue;
    place.numa_node = *numa_node;
    place.local_cpus = read_line(at / "local_cpus").value_or(place.local_cpus);
    place.local_cpulist = read_line(at / "local_cpulist").value_or(place.local_cpulist);
    return;
  }
}

}  // namespace

std::string cpu_mask_of_list(const std::string& cpulist) {
  constexpr int kMostCpus = 65536;
  std::vector<uint32_t> groups(1);
  std::string_view rest = cpulist;
  while (!rest.empty()) {
    std::string_view range = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), range.size() + 1));
    size_t dash = range.find('-');
    auto first = to_int(range.substr(0, dash));
    auto last = dash == std::string_view::npos ? first : to_int(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMostCpus) return "";
    groups.resize(std::max(groups.size(), static_cast<size_t>(*last / 32 + 1)));
    for (int cpu = *first; cpu <= *last; ++cpu) groups[cpu / 32] |= 1u << (cpu % 32);
  }
  std::string mask;
  for (size_t i = groups.size(); i-- > 0;) {
    if (!mask.empty()) mask += ',';
    mask += groups.size() == 1 ? fmt::format("{:x}", groups[i]) : fmt::format("{:08x}", groups[i]);
  }
  return mask;
}

InterfacePlace read_interface_place(const std::string& ifname, uint32_t ifindex) {
  InterfacePlace place;
  place.local_cpulist = read_line("/sys/devices/system/cpu/online").value_or("0");
  place.local_cpus = cpu_mask_of_list(place.local_cpulist);
  fs::path interface = fs::path("/sys/class/net") / ifname;
  if (read_int(interface / "ifindex") != static_cast<int>(ifindex)) return place;
  std::error_code failed;
  if (!fs::exists(interface / "device", failed)) return place;
  if (auto speed = read_int(interface / "speed"); speed && *speed > 0) {
    place.speed_mbps = static_cast<uint32_t>(*speed);
  }
  read_hardware(interface, place);
  return place;
}

}  // namespace urxe
