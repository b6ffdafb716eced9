// SPDX-License-Identifier: BSD-2-Clause
#include "tests/provider/cm/own_network.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "provider/devices/device_list.h"
#include "provider/devices/device_tree.h"
#include "provider/devices/network_namespace.h"
#include "provider/devices/tree_store.h"

namespace urxe::test {
namespace {

namespace fs = std::filesystem;

FileDescriptor open_current() {
  return FileDescriptor(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
}

/// Where this process's devices are described, as long as the process lives: a link to the tree.
class Tree {
 public:
  Tree() {
    if (mkdtemp(directory_) != nullptr) {
      setenv("URXE_TREE", (std::string(directory_) + "/tree").c_str(), 1);
    }
  }
  ~Tree() {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
  }
  void lead_to(const std::string& published) {
    const std::string link = std::string(directory_) + "/tree";
    unlink(link.c_str());
    ASSERT_EQ(symlink(published.c_str(), link.c_str()), 0);
    ASSERT_EQ(device_tree(), link) << "asked for too early";
  }
  [[nodiscard]] std::string directory() const { return directory_; }

 private:
  char directory_[32] = "/tmp/urxe-cm-test-XXXXXX";
};

Tree& tree() {
  static Tree only;
  return only;
}

bool addresses_are_ready(const char* interface_name) {
  const std::string show = std::string("ip -6 addr show dev ") + interface_name;
  return run(show + " | grep -q fe80 && ! " + show + " | grep -q tentative");
}

bool set_up_interface(const std::string& name, const char* last) {
  return run("ip addr add 10.99.0." + std::string(last) + "/24 dev " + name +
             " && ip addr add fd00:99::" + last + "/64 dev " + name + " nodad" +
             " && sysctl -q -w net.ipv6.conf." + name + ".accept_dad=0" + " net.ipv4.neigh." +
             name + ".mcast_solicit=1 net.ipv6.neigh." + name + ".mcast_solicit=1 net.ipv4.neigh." +
             name + ".retrans_time_ms=50 net.ipv6.neigh." + name +
             ".retrans_time_ms=50 && ip link set " + name + " up");
}

}  // namespace

NetworkNamespace NetworkNamespace::current() {
  NetworkNamespace found;
  found.fd_ = open_current();
  return found;
}

NetworkNamespace NetworkNamespace::make() {
  const NetworkNamespace here = current();
  NetworkNamespace made;
  if (geteuid() != 0 || !here || unshare(CLONE_NEWNET) != 0) return made;
  if (run("ip link set lo up")) made.fd_ = open_current();
  if (!here.enter()) made.fd_.reset();
  return made;
}

bool NetworkNamespace::enter() const {
  return setns(fd_.get(), CLONE_NEWNET) == 0;
}

std::string NetworkNamespace::path() const {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd_.get());
}

bool run(const std::string& command) {
  return std::system(("( " + command + " ) >/dev/null").c_str()) == 0;
}

void OwnNetwork::SetUp() {
  tree();
  before_ = NetworkNamespace::current();
  ours_ = NetworkNamespace::make();
  theirs_ = NetworkNamespace::make();
  if (!ours_ || !theirs_) GTEST_SKIP() << "needs the right to make network namespaces";
  ASSERT_TRUE(theirs_.enter());
  ASSERT_TRUE(run("ip link add urxb type veth peer name urxa netns " + ours_.path()));
  ASSERT_TRUE(set_up_interface("urxb", "2"));
  ASSERT_TRUE(ours_.enter());
  ASSERT_TRUE(set_up_interface("urxa", "1"));
  // The peers' link-local addresses come when both ends are up.
  while (!addresses_are_ready("urxa")) usleep(1000);
  publish_devices();
}

void OwnNetwork::TearDown() {
  if (IsSkipped()) return;
  ASSERT_TRUE(before_.enter());
}

void OwnNetwork::publish_devices() {
  std::vector<std::string> names;
  for (const Interface& each : list_interfaces().value_or(std::vector<Interface>())) {
    if (is_presentable(each)) names.push_back(each.name);
  }
  publish_only(names);
}

void OwnNetwork::publish_only(const std::vector<std::string>& names) {
  const auto interfaces = list_interfaces();
  ASSERT_TRUE(interfaces);
  std::vector<DeviceRequest> requests;
  for (const std::string& name : names) requests.push_back({default_device_name(name), name});
  auto devices = choose_devices(*interfaces, requests, {});
  ASSERT_TRUE(devices);
  const auto netns = current_network_namespace();
  ASSERT_TRUE(netns);
  const auto published = publish_tree(tree().directory(), *netns, describe_tree(*devices, {}));
  ASSERT_TRUE(published) << published.error();
  tree().lead_to(*published);
}

uint32_t OwnNetwork::interface(const char* name) {
  return if_nametoindex(name);
}

std::string OwnNetwork::link_local(const char* interface_name) {
  const auto interfaces = list_interfaces();
  if (!interfaces) return "";
  for (const Interface& found : *interfaces) {
    if (found.name != interface_name) continue;
    for (const Gid& gid : found.gids) {
      if (gid.is_ipv6_link_local()) return gid.to_string();
    }
  }
  return "";
}

}  // namespace urxe::test
