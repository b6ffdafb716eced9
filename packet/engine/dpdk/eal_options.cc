// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/dpdk/eal_options.h"

#include <algorithm>
#include <array>
#include <utility>

namespace urxe {
namespace {

enum class Value : uint8_t { kNone, kWanted, kOptional };

struct Option {
  std::string_view name;  ///< one character: a short option
  Value value = Value::kNone;
};

/// Those of DPDK 22.11 to 24.11.
constexpr auto kOptions = std::to_array<Option>({
    {"a", Value::kWanted},
    {"b", Value::kWanted},
    {"c", Value::kWanted},
    {"d", Value::kWanted},
    {"l", Value::kWanted},
    {"m", Value::kWanted},
    {"n", Value::kWanted},
    {"r", Value::kWanted},
    {"s", Value::kWanted},
    {"S", Value::kWanted},
    {"allow", Value::kWanted},
    {"base-virtaddr", Value::kWanted},
    {"block", Value::kWanted},
    {"create-uio-dev", Value::kNone},
    {"file-prefix", Value::kWanted},
    {"force-max-simd-bitwidth", Value::kWanted},
    {"huge-dir", Value::kWanted},
    {"huge-unlink", Value::kOptional},
    {"huge-worker-stack", Value::kOptional},
    {"in-memory", Value::kNone},
    {"iova-mode", Value::kWanted},
    {"lcores", Value::kWanted},
    {"legacy-mem", Value::kNone},
    {"log-level", Value::kWanted},
    {"log-timestamp", Value::kOptional},
    {"main-lcore", Value::kWanted},
    {"match-allocations", Value::kNone},
    {"mbuf-pool-ops-name", Value::kWanted},
    {"no-hpet", Value::kNone},
    {"no-huge", Value::kNone},
    {"no-pci", Value::kNone},
    {"no-shconf", Value::kNone},
    {"no-telemetry", Value::kNone},
    {"single-file-segments", Value::kNone},
    {"socket-limit", Value::kWanted},
    {"socket-mem", Value::kWanted},
    {"telemetry", Value::kNone},
    {"trace", Value::kWanted},
    {"trace-bufsz", Value::kWanted},
    {"trace-dir", Value::kWanted},
    {"trace-mode", Value::kWanted},
    {"vdev", Value::kWanted},
    {"vfio-intr", Value::kWanted},
    {"vfio-vf-token", Value::kWanted},
    {"vmware-tsc-map", Value::kNone},
});

/// What urxe's own use excludes, or what prints.
constexpr auto kRefused = std::to_array<std::string_view>(
    {"h", "v", "help", "version", "proc-type", "syslog", "log-color"});

/// More memory than the buffers of a port need.
constexpr const char* kMegabytes = "256";

struct Parsed {
  std::string name;
  std::string value;
};

bool is_among(std::string_view name, const std::vector<Parsed>& options) {
  return std::ranges::find(options, name, &Parsed::name) != options.end();
}

bool is_any_among(std::initializer_list<std::string_view> names,
                  const std::vector<Parsed>& options) {
  return std::ranges::any_of(names, [&](std::string_view name) { return is_among(name, options); });
}

/// Splits a word into the name of an option and what is behind it; nullopt: it is no option.
std::optional<std::pair<std::string_view, std::optional<std::string_view>>> split_word(
    std::string_view word) {
  if (word.size() < 2 || word[0] != '-') return std::nullopt;
  if (word[1] != '-') {
    const auto rest = word.substr(2);
    return std::pair(word.substr(1, 1), rest.empty() ? std::nullopt : std::optional(rest));
  }
  const size_t equals = word.find('=');
  if (equals == std::string_view::npos) return std::pair(word.substr(2), std::nullopt);
  return std::pair(word.substr(2, equals - 2), std::optional(word.substr(equals + 1)));
}

Expected<std::vector<Parsed>, std::string> parse(const std::vector<std::string>& words) {
  const auto refuse = [](std::string why) { return Unexpected<std::string>(std::move(why)); };
  std::vector<Parsed> options;
  for (size_t i = 0; i < words.size(); ++i) {
    const auto split = split_word(words[i]);
    if (!split) return refuse("'" + words[i] + "' is no option of DPDK's environment (EAL)");
    const auto [name, attached] = *split;
    if (std::ranges::find(kRefused, name) != kRefused.end()) {
      return refuse("'" + words[i] + "' cannot be used here: urxe runs DPDK inside the program");
    }
    const auto* const option = std::ranges::find(kOptions, name, &Option::name);
    if (option == kOptions.end()) {
      return refuse("'" + words[i] + "' is no option of DPDK's environment (EAL)");
    }
    Parsed parsed{std::string(name), std::string(attached.value_or(""))};
    if (option->value == Value::kNone && attached)
      return refuse("'" + words[i] + "' takes no value");
    if (option->value == Value::kWanted && !attached) {
      if (++i == words.size()) return refuse("'" + words.back() + "' needs a value");
      parsed.value = words[i];
    }
    options.push_back(std::move(parsed));
  }
  return options;
}

/// One word an option, so that no value can be taken for another option.
std::string to_word(const Parsed& option) {
  if (option.name.size() == 1) return "-" + option.name + option.value;
  return "--" + option.name + (option.value.empty() ? "" : "=" + option.value);
}

/// The value of `key=` in "name,key=value,...".
std::optional<std::string> argument_of(std::string_view device, std::string_view key) {
  for (size_t comma = device.find(','); comma != std::string_view::npos;
       comma = device.find(',', comma + 1)) {
    const std::string_view rest = device.substr(comma + 1);
    if (!rest.starts_with(key) || rest.substr(key.size(), 1) != "=") continue;
    const std::string_view value = rest.substr(key.size() + 1);
    return std::string(value.substr(0, value.find(',')));
  }
  return std::nullopt;
}

/// Buffers: the driver's 2048 bytes would take three for each packet of the largest path MTU.
/// Socket: the driver's has an abstract name, which any user of the host can take.
Expected<void, std::string> complete_memif(Parsed& option, const std::string& socket) {
  if (option.name != "vdev" || !option.value.starts_with("net_memif")) return {};
  if (!argument_of(option.value, "bsize")) option.value += ",bsize=8192";
  if (argument_of(option.value, "socket") || argument_of(option.value, "socket-abstract")) {
    return {};
  }
  if (socket.empty()) {
    return Unexpected<std::string>("there is no directory of the user's own for the socket of '" +
                                   option.value + "': add socket=PATH,socket-abstract=no");
  }
  option.value += ",socket=" + socket + ",socket-abstract=no";
  return {};
}

DeviceKey key_of_memif(std::string_view device) {
  const std::string role = argument_of(device, "role").value_or("client");
  const std::string socket = memif_socket_of(device);
  const bool abstract = argument_of(device, "socket-abstract").value_or("yes") != "no";
  const bool server = role == "server" || role == "master";
  DeviceKey key;
  key.of_network = abstract;
  key.text = std::string("memif ") + (abstract ? "@" : "") + socket;
  if (server && !abstract) key.memif_socket = socket;
  // The server's socket is one process's; clients of a socket differ by their number.
  key.shared_by_ids = server;
  key.text += server ? " server" : " client " + argument_of(device, "id").value_or("0");
  return key;
}

}  // namespace

std::string name_of_device(std::string_view device) {
  return std::string(device.substr(0, device.find(',')));
}

std::string memif_socket_of(std::string_view device) {
  if (!device.starts_with("net_memif")) return "";
  return argument_of(device, "socket").value_or("/run/memif.sock");
}

DeviceKey key_of_device(std::string_view device) {
  if (device.starts_with("net_memif")) return key_of_memif(device);
  DeviceKey key;
  if (!device.starts_with("net_") && !device.starts_with("eth_")) {
    key.text = "bus " + name_of_device(device);  // a PCI address
    return key;
  }
  // With both, as net_virtio_user has, the path is a device of the kernel that any number can open.
  for (const char* const name : {"iface", "path"}) {
    const auto value = argument_of(device, name);
    if (!value || value->starts_with("/dev/vhost-")) continue;
    key.text = std::string(name) + " " + *value;
    key.of_network = value->find('/') == std::string::npos;
    break;
  }
  return key;
}

std::vector<std::string> named_devices(const std::vector<std::string>& options) {
  std::vector<std::string> devices;
  const auto parsed = parse(options);
  if (!parsed) return devices;
  for (const Parsed& option : *parsed) {
    if (option.name == "vdev" || option.name == "a" || option.name == "allow") {
      devices.push_back(option.value);
    }
  }
  return devices;
}

Expected<std::vector<std::string>, std::string> complete_eal_options(
    const std::vector<std::string>& given, const EalHost& host) {
  auto parsed = parse(given);
  if (!parsed) return Unexpected<std::string>(parsed.error());
  std::vector<Parsed>& options = *parsed;
  for (Parsed& option : options) {
    auto completed = complete_memif(option, host.memif_socket);
    if (!completed) return Unexpected<std::string>(std::move(completed.error()));
  }
  const bool has_memory = is_any_among({"m", "socket-mem"}, options);
  if (!is_any_among(
          {"no-huge", "in-memory", "huge-dir", "huge-unlink", "legacy-mem", "single-file-segments"},
          options)) {
    if (host.huge_pages) {
      options.push_back({"in-memory", ""});
      options.push_back({"single-file-segments", ""});
    } else {
      options.push_back({"no-huge", ""});
    }
    if (!has_memory) options.push_back({"m", kMegabytes});
  } else if (!has_memory && is_among("no-huge", options)) {
    options.push_back({"m", kMegabytes});
  }
  if (!is_any_among({"l", "c", "lcores", "s", "S"}, options)) {
    options.push_back({"l", std::to_string(host.first_cpu)});
  }
  if (!is_any_among({"no-pci", "a", "allow", "b", "block"}, options)) {
    options.push_back({"no-pci", ""});
  }
  if (!is_among("no-shconf", options)) options.push_back({"no-shconf", ""});
  if (!is_any_among({"telemetry", "no-telemetry"}, options))
    options.push_back({"no-telemetry", ""});
  if (!is_among("file-prefix", options)) options.push_back({"file-prefix", host.file_prefix});
  if (!is_among("log-level", options)) options.push_back({"log-level", "4"});  // errors
  std::vector<std::string> words;
  words.reserve(options.size());
  for (const Parsed& option : options) words.push_back(to_word(option));
  return words;
}

}  // namespace urxe
