// SPDX-License-Identifier: BSD-2-Clause
#include "provider/presence/place.h"

#include <errno.h>
#include <string.h>

#include "provider/presence/next.h"

/// The directories on the way to the presented ones. All of them are real directories, never
/// symbolic links, so ".." after them may be resolved by name. The exception is the kernel's own
/// entry for the connection manager, which is a link. urxe's entry and node take its place, because
/// librdmacm uses only one.
struct place {
  const char* component;
  const char* path;
  int parent;
  bool presented;
};
enum {
  kRoot,
  kSys,
  kClass,
  kVerbsClass,
  kVerbsFileClass,
  kMadClass,
  kMisc,
  kCm,
  kDevices,
  kOurDevices,
  kDev,
  kNodes
};
static const struct place kPlaces[] = {
    [kRoot] = {"", "/", kRoot, false},
    [kSys] = {"sys", "/sys", kRoot, false},
    [kClass] = {"class", "/sys/class", kSys, false},
    [kVerbsClass] = {"infiniband", "/sys/class/infiniband", kClass, true},
    [kVerbsFileClass] = {"infiniband_verbs", "/sys/class/infiniband_verbs", kClass, true},
    [kMadClass] = {"infiniband_mad", "/sys/class/infiniband_mad", kClass, true},
    [kMisc] = {"misc", "/sys/class/misc", kClass, false},
    [kCm] = {"rdma_cm", "/sys/class/misc/rdma_cm", kMisc, true},
    [kDevices] = {"devices", "/sys/devices", kSys, false},
    [kOurDevices] = {"urxe", "/sys/devices/urxe", kDevices, true},
    [kDev] = {"dev", "/dev", kRoot, false},
    [kNodes] = {"infiniband", "/dev/infiniband", kDev, true},
};
enum { kPlaceCount = sizeof(kPlaces) / sizeof(kPlaces[0]) };

struct component {
  const char* start;
  size_t length;
};

static bool is_named(struct component component, const char* name) {
  return strncmp(component.start, name, component.length) == 0 && name[component.length] == '\0';
}

/// The component that starts at or after `*at`; moves `*at` behind it. Skips ".".
static struct component next_component(const char** at) {
  struct component result;
  do {
    while (**at == '/') ++*at;
    result.start = *at;
    while (**at != '/' && **at != '\0') ++*at;
    result.length = (size_t)(*at - result.start);
  } while (result.length == 1 && result.start[0] == '.');
  return result;
}

static int child_of(int parent, struct component component) {
  for (int i = 1; i < kPlaceCount; ++i) {
    if (kPlaces[i].parent == parent && is_named(component, kPlaces[i].component)) return i;
  }
  return -1;
}

struct match {
  int place;         ///< the deepest known directory
  const char* rest;  ///< the path after it
  bool stepped_out;  ///< ".." led out of a presented directory, which the kernel may not have
};

static struct match match_path(const char* path) {
  struct match match = {kRoot, path, false};
  const char* at = path;
  for (;;) {
    struct component component = next_component(&at);
    match.rest = component.start;
    if (component.length == 0) return match;
    if (is_named(component, "..")) {
      match.stepped_out = match.stepped_out || kPlaces[match.place].presented;
      match.place = kPlaces[match.place].parent;
      continue;
    }
    int child = kPlaces[match.place].presented ? -1 : child_of(match.place, component);
    if (child < 0) return match;
    match.place = child;
  }
}

bool urxe_is_presented(const char* path) {
  struct match match = match_path(path);
  if (!kPlaces[match.place].presented && !match.stepped_out) return false;
  // A very early call may come before the set-up, which reads the environment.
  (void)URXE_NEXT(open);
  return urxe_tree_length != 0;
}

/// Appends to the target's path; false if it does not fit.
static bool append(struct urxe_target* target, size_t* length, const char* text, size_t count) {
  if (*length + count >= sizeof(target->buffer)) return false;
  memcpy(target->buffer + *length, text, count);
  *length += count;
  target->buffer[*length] = '\0';
  return true;
}

static bool append_string(struct urxe_target* target, size_t* length, const char* text) {
  return append(target, length, text, strlen(text));
}

/// The number in the name of a umad node; -1: it is no such node.
static int umad_number(struct component entry) {
  static const char kPrefix[] = "umad";
  const size_t digits_at = sizeof(kPrefix) - 1;
  const size_t most_digits = 4;
  if (entry.length <= digits_at || entry.length > digits_at + most_digits ||
      memcmp(entry.start, kPrefix, digits_at) != 0) {
    return -1;
  }
  int number = 0;
  for (size_t i = digits_at; i < entry.length; ++i) {
    if (entry.start[i] < '0' || entry.start[i] > '9') return -1;
    number = number * 10 + (entry.start[i] - '0');
  }
  return number;
}

/// The kind of an entry of /dev/infiniband whose stand-in is the null device.
static enum urxe_kind kind_of_node(struct component entry, int* number) {
  if (is_named(entry, "rdma_cm")) return URXE_CM_NODE;
  *number = umad_number(entry);
  return *number >= 0 ? URXE_MAD_NODE : URXE_NODE;
}

/// Sets the kind of the entry whose path in the tree is in target->buffer. In the tree real devices
/// are absolute links to their places, urxe's nodes are links to the null device, and everything
/// else is relative links, files and directories.
static bool look_at_entry(struct urxe_target* target, size_t* length, int place,
                          struct component entry) {
  char link[PATH_MAX];
  ssize_t count = URXE_NEXT(readlink)(target->buffer, link, sizeof(link));
  if (count < 0 && errno != EINVAL) return false;
  target->kind = URXE_IN_TREE;
  if (count <= 0 || link[0] != '/' || count >= (ssize_t)sizeof(link)) return true;
  struct component whole = {link, (size_t)count};
  if (place != kNodes || !is_named(whole, "/dev/null")) {
    target->kind = URXE_REAL_ENTRY;
  } else {
    target->kind = kind_of_node(entry, &target->number);
  }
  *length = 0;
  return append(target, length, link, (size_t)count);
}

static bool fill_presented(struct urxe_target* target, struct match match) {
  target->kind = URXE_IN_TREE;
  _Static_assert(sizeof(target->buffer) >= URXE_LONGEST_TREE, "the tree's path fits");
  size_t length = urxe_reach_tree(target->buffer);
  if (!append_string(target, &length, kPlaces[match.place].path)) return false;
  const char* after = match.rest;
  struct component entry = next_component(&after);
  if (entry.length == 0) return true;
  if (!append_string(target, &length, "/") || !append(target, &length, entry.start, entry.length) ||
      !look_at_entry(target, &length, match.place, entry)) {
    return false;
  }
  return append_string(target, &length, after);
}

static bool fill_stepped_out(struct urxe_target* target, struct match match) {
  size_t length = 0;
  target->kind = URXE_ELSEWHERE;
  return append_string(target, &length, kPlaces[match.place].path) &&
         append_string(target, &length, "/") && append_string(target, &length, match.rest);
}

const char* urxe_translate(const char* path, struct urxe_target* target) {
  int saved_errno = errno;
  struct match match = match_path(path);
  bool filled = false;
  if (kPlaces[match.place].presented) {
    filled = fill_presented(target, match);
  } else if (match.stepped_out) {
    filled = fill_stepped_out(target, match);
  }
  target->path = filled ? target->buffer : path;
  if (!filled) target->kind = URXE_ELSEWHERE;
  errno = saved_errno;
  return target->path;
}

void urxe_present_path(char* path) {
  if (urxe_tree_length == 0 || strncmp(path, urxe_tree, urxe_tree_length) != 0) return;
  const char* inside = path + urxe_tree_length;
  if (strncmp(inside, "/sys/", 5) != 0 && strncmp(inside, "/dev/", 5) != 0) return;
  memmove(path, inside, strlen(inside) + 1);
}
