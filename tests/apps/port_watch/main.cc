// SPDX-License-Identifier: BSD-2-Clause
// urxe_port_watch DEVICE: opens the device and prints what happens to its port 1, until it is
// killed: each asynchronous event ("event NAME PORT"), and whenever it is another one than before
// the port as the verbs tell it ("port STATE MTU INDEX=GID ...").
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <poll.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <string>

namespace {

constexpr int kLookEveryMs = 20;
constexpr uint8_t kPort = 1;

ibv_context* open_named(const char* name) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  ibv_context* context = nullptr;
  for (int i = 0; i < count && context == nullptr; ++i) {
    if (std::strcmp(ibv_get_device_name(list[i]), name) == 0) context = ibv_open_device(list[i]);
  }
  if (list != nullptr) ibv_free_device_list(list);
  return context;
}

std::string to_text(const ibv_gid& gid) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(AF_INET6, gid.raw, text, sizeof text);
  return text;
}

/// The GIDs by ibv_query_gid_table(); "?" where ibv_query_gid() says something else of one.
std::string describe_gids(ibv_context* context) {
  std::array<ibv_gid_entry, 256> entries{};
  const ssize_t count = ibv_query_gid_table(context, entries.data(), entries.size(), 0);
  if (count < 0) return " no-table";
  std::string text;
  for (ssize_t i = 0; i < count; ++i) {
    const ibv_gid_entry& entry = entries[static_cast<size_t>(i)];
    text += " " + std::to_string(entry.gid_index) + "=" + to_text(entry.gid);
    ibv_gid gid{};
    const int index = static_cast<int>(entry.gid_index);
    if (ibv_query_gid(context, kPort, index, &gid) != 0 ||
        std::memcmp(&gid, &entry.gid, sizeof gid) != 0) {
      text += "?";
    }
  }
  return text;
}

std::string describe_port(ibv_context* context) {
  ibv_port_attr attr{};
  if (ibv_query_port(context, kPort, &attr) != 0) return "no port";
  return std::string(ibv_port_state_str(attr.state)) + " " +
         std::to_string(128 << attr.active_mtu) + describe_gids(context);
}

void print_event(ibv_context* context) {
  ibv_async_event event{};
  if (ibv_get_async_event(context, &event) != 0) return;
  std::printf("event %s %d\n", ibv_event_type_str(event.event_type), event.element.port_num);
  ibv_ack_async_event(&event);
}

}  // namespace

int main(int argc, char** argv) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  ibv_context* context = argc == 2 ? open_named(argv[1]) : nullptr;
  if (context == nullptr) {
    std::fprintf(stderr, "usage: urxe_port_watch DEVICE\n");
    return 1;
  }
  std::string shown;
  for (;;) {
    const std::string now = describe_port(context);
    if (now != shown) std::printf("port %s\n", now.c_str());
    shown = now;
    pollfd fd{context->async_fd, POLLIN, 0};
    if (poll(&fd, 1, kLookEveryMs) == 1) print_event(context);
  }
}
