// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/device_file.h"

#include <dirent.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>

#include "packet/host/read_file.h"

namespace urxe {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

std::string hex_of(const Gid& gid) {
  std::string text;
  for (uint8_t byte : gid.bytes) {
    text += kHexDigits[byte >> 4];
    text += kHexDigits[byte & 15];
  }
  return text;
}

template <class T>
bool parse_number(std::string_view text, T& out, int base = 10) {
  const char* end = text.data() + text.size();
  auto [parsed_to, error_code] = std::from_chars(text.data(), end, out, base);
  return error_code == std::errc() && parsed_to == end;
}

bool parse_gid(std::string_view text, Gid& gid) {
  if (text.size() != 2 * gid.bytes.size()) return false;
  for (size_t i = 0; i < gid.bytes.size(); ++i) {
    if (!parse_number(text.substr(2 * i, 2), gid.bytes[i], 16)) return false;
  }
  return true;
}

bool parse_bool(std::string_view text, bool& out) {
  out = text == "1";
  return out || text == "0";
}

bool add_gid(std::string_view index_text, std::string_view value, std::vector<Gid>& gids) {
  size_t index = 0;
  Gid gid;
  if (!parse_number(index_text, index) || index != gids.size() || index >= kGidTableLength ||
      !parse_gid(value, gid)) {
    return false;
  }
  gids.push_back(gid);
  return true;
}

bool add_network(std::string_view value, std::vector<IpNetwork>& networks) {
  const size_t slash = std::min(value.find('/'), value.size() - 1);
  IpNetwork network;
  if (networks.size() == kGidTableLength || !parse_gid(value.substr(0, slash), network.address) ||
      !parse_number(value.substr(slash + 1), network.prefix_bits) || network.prefix_bits > 128) {
    return false;
  }
  networks.push_back(network);
  return true;
}

bool add_gateway(std::string_view value, std::vector<Gid>& gateways) {
  Gid gateway;
  if (gateways.size() == 2 || !parse_gid(value, gateway)) return false;
  gateways.push_back(gateway);
  return true;
}

/// False if the value of a known key is malformed.
bool set_field(DeviceDescription& device, std::string_view key, std::string_view value) {
  if (key == "name") return !(device.name = value).empty();
  if (key == "ifname") return !(device.ifname = value).empty();
  if (key == "ifindex") return parse_number(value, device.ifindex);
  if (key == "mtu") return parse_number(value, device.mtu);
  if (key == "most_mtu") return parse_number(value, device.most_mtu);
  if (key == "guid") return parse_number(value, device.node_guid, 16);
  if (key == "speed_mbps") return parse_number(value, device.speed_mbps);
  if (key == "active_width") return parse_number(value, device.active_width);
  if (key == "active_speed") return parse_number(value, device.active_speed);
  if (key == "link_up") return parse_bool(value, device.link_up);
  if (key == "gone") return parse_bool(value, device.gone);
  if (key == "uverbs") return parse_number(value, device.uverbs_number);
  if (key == "port") return !(device.port = value).empty();
  if (key == "network") return !value.empty() && add_network(value, device.networks);
  if (key == "gateway") return add_gateway(value, device.gateways);
  if (key.starts_with("gid")) return add_gid(key.substr(3), value, device.gids);
  return true;
}

}  // namespace

std::string format_device(const DeviceDescription& device) {
  std::string text;
  auto add = [&text](const std::string& key, const std::string& value) {
    text += key + "=" + value + "\n";
  };
  char guid[17] = {};
  std::to_chars(guid, guid + 16, device.node_guid, 16);
  add("name", device.name);
  add("ifname", device.ifname);
  add("ifindex", std::to_string(device.ifindex));
  add("mtu", std::to_string(device.mtu));
  if (device.most_mtu != 0) add("most_mtu", std::to_string(device.most_mtu));
  add("guid", guid);
  add("speed_mbps", std::to_string(device.speed_mbps));
  add("active_width", std::to_string(device.active_width));
  add("active_speed", std::to_string(device.active_speed));
  add("link_up", device.link_up ? "1" : "0");
  add("gone", device.gone ? "1" : "0");
  add("uverbs", std::to_string(device.uverbs_number));
  if (!device.port.empty()) add("port", device.port);
  for (const IpNetwork& network : device.networks) {
    add("network", hex_of(network.address) + "/" + std::to_string(network.prefix_bits));
  }
  for (const Gid& gateway : device.gateways) add("gateway", hex_of(gateway));
  for (size_t i = 0; i < device.gids.size(); ++i) {
    add("gid" + std::to_string(i), hex_of(device.gids[i]));
  }
  return text;
}

Expected<DeviceDescription, std::string> parse_device(std::string_view text) {
  DeviceDescription device;
  while (!text.empty()) {
    size_t line_end = text.find('\n');
    std::string_view line = text.substr(0, line_end);
    text.remove_prefix(line_end == std::string_view::npos ? text.size() : line_end + 1);
    size_t equals = line.find('=');
    if (equals == std::string_view::npos ||
        !set_field(device, line.substr(0, equals), line.substr(equals + 1))) {
      return Unexpected<std::string>("malformed line: " + std::string(line));
    }
  }
  if (device.name.empty()) return Unexpected<std::string>("no name");
  if (device.ifname.empty()) return Unexpected<std::string>("no ifname");
  if (device.ifindex == 0) return Unexpected<std::string>("no ifindex");
  if (device.mtu == 0) return Unexpected<std::string>("no mtu");
  return device;
}

Expected<DeviceDescription, std::string> read_device(const std::string& tree,
                                                     const std::string& name) {
  if (name.empty() || name.find('/') != std::string::npos) {
    return Unexpected<std::string>("not a device name: " + name);
  }
  std::string path = tree + "/devices/" + name;
  const auto text = read_file(path);
  if (!text) {
    const int why = text.error().value;
    return Unexpected<std::string>("cannot read " + path + ": " + std::strerror(why));
  }
  auto device = parse_device(*text);
  if (!device) return Unexpected<std::string>(path + ": " + device.error());
  return device;
}

std::vector<DeviceDescription> read_devices(const std::string& tree) {
  std::vector<DeviceDescription> devices;
  // Not by std::filesystem, which ends the program if memory is short.
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir((tree + "/devices").c_str()),
                                                      closedir);
  while (const dirent* const entry = directory ? readdir(directory.get()) : nullptr) {
    const std::string name = entry->d_name;
    if (name.starts_with(".") || name.ends_with(kCountersSuffix)) continue;
    if (auto device = read_device(tree, name)) devices.push_back(*std::move(device));
  }
  std::ranges::sort(devices, {}, &DeviceDescription::name);
  return devices;
}

}  // namespace urxe
