// SPDX-License-Identifier: BSD-2-Clause
#include "tools/lab/topology.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

#include "packet/engine/fault_plan.h"
#include "packet/host/file_descriptor.h"
#include "tools/lab/failure.h"

namespace urxe::lab {
namespace {

constexpr size_t kMostFileBytes = 1 << 20;  ///< of a file
constexpr size_t kMostName = 32;
constexpr size_t kMostSwitches = 128;
constexpr size_t kMostPorts = 16;
/// Of a node in one network: assign_addresses() has no more numbers.
constexpr size_t kMostPortsInNetwork = 3;

using Words = std::vector<std::string>;

Unexpected<std::string> wrong(const std::string& why) {
  return Unexpected<std::string>(why);
}

/// Of a file that may hold anything, for a terminal.
std::string printable(std::string text) {
  constexpr size_t kMostShown = 280;
  if (text.size() > kMostShown) text = text.substr(0, kMostShown) + "...";
  std::ranges::replace_if(
      text, [](unsigned char c) { return std::isprint(c) == 0; }, '?');
  return text;
}

/// What is left of the line without its comment, in words.
Words split(std::string_view line) {
  line = line.substr(0, line.find('#'));
  Words words;
  for (size_t at = 0; at < line.size();) {
    const size_t begin = line.find_first_not_of(" \t\r", at);
    if (begin == std::string_view::npos) break;
    const size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
    words.emplace_back(line.substr(begin, end - begin));
    at = end;
  }
  return words;
}

/// A name is a host name, too.
bool is_name(const std::string& text) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; };
  return !text.empty() && text.size() <= kMostName && std::ranges::all_of(text, fits) &&
         std::isalpha(static_cast<unsigned char>(text.front())) != 0 && text.back() != '-';
}

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Whether /etc/hosts gives the name to something else: hosts_of() adds -eth1 and -ip6 to names.
bool has_other_meaning(const std::string& name) {
  const std::string lower = lower_case(name);
  if (lower == "localhost" || lower == "ip6-localhost" || lower.ends_with("-ip6")) return true;
  const size_t end = lower.find_last_not_of("0123456789") + 1;
  return end < lower.size() && lower.substr(0, end).ends_with("-eth");
}

/// Host names know no case.
bool is_taken(const Plan& plan, const std::string& name) {
  const auto is_same = [&](const std::string& other) {
    return lower_case(other) == lower_case(name);
  };
  return std::ranges::any_of(plan.nodes, is_same, &Node::name) ||
         std::ranges::any_of(plan.switches, is_same);
}

std::optional<size_t> find_node(const Plan& plan, const std::string& name) {
  const auto found = std::ranges::find(plan.nodes, name, &Node::name);
  if (found == plan.nodes.end()) return std::nullopt;
  return static_cast<size_t>(found - plan.nodes.begin());
}

std::optional<size_t> find_switch(const Plan& plan, const std::string& name) {
  const auto found = std::ranges::find(plan.switches, name);
  if (found == plan.switches.end()) return std::nullopt;
  return static_cast<size_t>(found - plan.switches.begin());
}

Done declare(Plan& plan, const Words& words) {
  if (words.size() != 2) return wrong(fmt::format("a line is '{} NAME'", words[0]));
  const std::string& name = words[1];
  if (!is_name(name)) {
    return wrong(fmt::format("'{}' is no name: letters, digits and '-', {} at most, a letter first",
                             name, kMostName));
  }
  if (is_taken(plan, name)) return wrong(fmt::format("there is another '{}'", name));
  if (has_other_meaning(name)) {
    return wrong(fmt::format("'{}' means something else in the lab's /etc/hosts", name));
  }
  if (words[0] == "node") {
    if (plan.nodes.size() == kMostNodes) return wrong(fmt::format("{} nodes at most", kMostNodes));
    plan.nodes.push_back({name, {}});
    return {};
  }
  if (plan.switches.size() == kMostSwitches) {
    return wrong(fmt::format("{} switches at most", kMostSwitches));
  }
  plan.switches.push_back(name);
  return {};
}

/// What a link's words say.
struct Cable {
  unsigned mtu = kDefaultMtu;
  std::string faults;
};

Done take_mtu(const std::string& value, Cable& cable) {
  const char* const end = value.data() + value.size();
  const auto [stopped, failed] = std::from_chars(value.data(), end, cable.mtu);
  const bool fits = cable.mtu >= kLeastMtu && cable.mtu <= kMostMtu;
  if (failed != std::errc{} || stopped != end || !fits) {
    return wrong(fmt::format("mtu={}: from {} to {}", value, kLeastMtu, kMostMtu));
  }
  return {};
}

Expected<Cable, std::string> read_cable(const Words& words) {
  constexpr std::string_view kMtu = "mtu=";
  Cable cable;
  const auto is_mtu = [&](const std::string& word) { return word.starts_with(kMtu); };
  if (std::ranges::count_if(words, is_mtu) > 1) return wrong("mtu= is given twice");
  for (size_t i = 3; i < words.size(); ++i) {
    if (!words[i].starts_with(kMtu)) {
      cable.faults += (cable.faults.empty() ? "" : ",") + words[i];
    } else if (auto taken = take_mtu(words[i].substr(kMtu.size()), cable); !taken) {
      return wrong(taken.error());
    }
  }
  if (cable.faults.empty()) return cable;
  if (const auto plan = parse_fault_plan(cable.faults); !plan) return wrong(plan.error());
  return cable;
}

Done add_port(Plan& plan, size_t node, size_t network_switch, const Cable& cable) {
  Node& owner = plan.nodes[node];
  if (owner.ports.size() == kMostPorts) {
    return wrong(fmt::format("{} has {} links, the most", owner.name, kMostPorts));
  }
  Port port;
  port.interface = fmt::format("eth{}", owner.ports.size());
  port.network_switch = network_switch;
  port.mtu = cable.mtu;
  port.faults = cable.faults;
  owner.ports.push_back(std::move(port));
  return {};
}

/// A bridge would send packets round and round.
bool closes_a_circle(const Plan& plan, size_t from, size_t to) {
  const std::vector<size_t> networks = networks_of(plan);
  return networks[from] == networks[to];
}

Done add_trunk(Plan& plan, size_t from, size_t to, const Cable& cable) {
  if (!cable.faults.empty()) {
    return wrong(cable.faults + ": a link between switches takes only mtu=");
  }
  if (closes_a_circle(plan, from, to)) return wrong("there is a way between the two already");
  plan.trunks.push_back({from, to, cable.mtu});
  return {};
}

/// Two nodes: a switch of their own, for which the words hold once.
Done add_direct(Plan& plan, size_t from, size_t to, const Cable& cable) {
  if (from == to) return wrong("a link has two ends");
  if (plan.switches.size() == kMostSwitches) {
    return wrong(fmt::format("{} switches and links between nodes at most", kMostSwitches));
  }
  plan.switches.emplace_back();
  const size_t between = plan.switches.size() - 1;
  if (auto added = add_port(plan, from, between, cable); !added) return added;
  return add_port(plan, to, between, {cable.mtu, {}});
}

Done add_link(Plan& plan, const Words& words) {
  if (words.size() < 3) return wrong("a line is 'link A B [WORD...]'");
  const auto cable = read_cable(words);
  if (!cable) return wrong(cable.error());
  const auto node_a = find_node(plan, words[1]);
  const auto node_b = find_node(plan, words[2]);
  const auto switch_a = find_switch(plan, words[1]);
  const auto switch_b = find_switch(plan, words[2]);
  for (const auto& [end, name] :
       {std::pair(node_a || switch_a, words[1]), {node_b || switch_b, words[2]}}) {
    if (!end) return wrong(fmt::format("there is no node or switch '{}' so far", name));
  }
  if (switch_a && switch_b) return add_trunk(plan, *switch_a, *switch_b, *cable);
  if (node_a && node_b) return add_direct(plan, *node_a, *node_b, *cable);
  return node_a ? add_port(plan, *node_a, *switch_b, *cable)
                : add_port(plan, *node_b, *switch_a, *cable);
}

Done take_line(Plan& plan, const Words& words) {
  if (words.empty()) return {};
  if (words[0] == "node" || words[0] == "switch") return declare(plan, words);
  if (words[0] == "link") return add_link(plan, words);
  return wrong(fmt::format("'{}': a line begins with node, switch or link", words[0]));
}

Done check_ports(const Plan& plan) {
  if (plan.nodes.empty()) return wrong("there is no node");
  const std::vector<size_t> networks = networks_of(plan);
  for (const Node& node : plan.nodes) {
    if (node.ports.empty()) return wrong(node.name + " has no link");
    std::vector<size_t> ports_in(networks.size());
    for (const Port& port : node.ports) {
      if (++ports_in[networks[port.network_switch]] > kMostPortsInNetwork) {
        return wrong(fmt::format("{} has more than {} links to one network", node.name,
                                 kMostPortsInNetwork));
      }
    }
  }
  return {};
}

/// open() waits for nothing: a FIFO may never have a writer, and a device may never end.
Expected<std::string, std::string> read_regular_file(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) {
    return wrong(path + ": " + std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) return wrong(path + ": not a regular file; write the plan to one");
  std::string text(kMostFileBytes + 1, '\0');
  size_t used = 0;
  while (used < text.size()) {
    const ssize_t got = read(file.get(), text.data() + used, text.size() - used);
    if (got < 0) return wrong(path + ": " + std::strerror(errno));
    if (got == 0) break;
    used += static_cast<size_t>(got);
  }
  if (used > kMostFileBytes) return wrong(path + ": more than 1 MiB");
  text.resize(used);
  return text;
}

}  // namespace

Expected<Plan, std::string> parse_topology(std::string_view text) {
  Plan plan;
  size_t line = 1;
  for (size_t at = 0; at <= text.size(); ++line) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const auto taken = take_line(plan, split(text.substr(at, end - at)));
    if (!taken) return wrong(fmt::format("line {}: {}", line, printable(taken.error())));
    at = end + 1;
  }
  if (auto checked = check_ports(plan); !checked) return wrong(checked.error());
  assign_addresses(plan);
  return plan;
}

Expected<Plan, std::string> read_topology(const std::string& path) {
  const auto text = read_regular_file(path);
  if (!text) return wrong(text.error());
  auto plan = parse_topology(*text);
  if (!plan) return wrong(path + ": " + plan.error());
  return plan;
}

}  // namespace urxe::lab
