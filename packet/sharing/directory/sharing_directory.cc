// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/directory/sharing_directory.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <string_view>

#include "packet/host/byte_lock.h"
#include "packet/host/descriptor_message.h"
#include "packet/host/network_identity.h"

namespace urxe {
namespace {

/// Processes that are asked for the directory, in case one of them was stopped.
constexpr size_t kMostAsked = 3;
/// At least as many as the search has open at a time, unless it finds several directories: then it
/// has a link to each.
constexpr size_t kDescriptorsOfSearch = 8;

/// Those of this process, by the number of the network namespace. Never destroyed: exit handlers
/// may still use them.
struct Directories {
  static Directories& instance() {
    static auto* const directories = new Directories;
    return *directories;
  }
  std::mutex mutex;
  std::map<uint64_t, std::unique_ptr<SharingDirectory>> open;

 private:
  Directories() {
    pthread_atfork([] { instance().mutex.lock(); }, [] { instance().mutex.unlock(); },
                   [] { instance().mutex.unlock(); });
  }
};

/// Whether the error would be the same in any other place.
bool is_lack_of_resources(const EngineError& why) {
  return why.errno_value == EMFILE || why.errno_value == ENFILE || why.errno_value == ENOMEM;
}

/// Checks that there are descriptors for the search for other processes: a lack of them must not
/// look like a lack of processes.
Expected<void, EngineError> check_descriptors() {
  std::array<FileDescriptor, kDescriptorsOfSearch> spare;
  for (FileDescriptor& fd : spare) {
    fd = FileDescriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (fd) continue;
    const int why = errno;
    return Unexpected<EngineError>(
        {why,
         std::string("cannot look for the other programs of this user: ") + std::strerror(why)});
  }
  return {};
}

/// The directory in that place; the error is that of the user's or of the network's directory.
Expected<NetworkDirectory, EngineError> open_in(const std::string& place,
                                                const std::string& network, IfMissing if_missing) {
  const auto user = open_user_directory(place, if_missing);
  if (!user) return Unexpected<EngineError>(user.error());
  return open_network_directory(*user, network, if_missing);
}

Expected<NetworkDirectory, EngineError> find_or_make(const std::vector<std::string>& places,
                                                     const std::string& network) {
  std::string reasons;
  for (const IfMissing if_missing : {IfMissing::kFail, IfMissing::kMake}) {
    reasons.clear();
    for (const std::string& place : places) {
      auto found = open_in(place, network, if_missing);
      // A process without resources, or beside a stopped one, does not go elsewhere, where it would
      // be alone: it fails.
      if (found || is_lack_of_resources(found.error()) || found.error().errno_value == EBUSY) {
        return found;
      }
      reasons += (reasons.empty() ? "" : "; ") + found.error().what;
    }
  }
  return Unexpected<EngineError>(
      {EACCES, "no directory in which the programs of this user can meet: " + reasons + ". " +
                   kHowToHaveADirectory});
}

Unexpected<EngineError> apart(const std::string& name) {
  return Unexpected<EngineError>(
      {EBUSY,
       "programs of this user in this network namespace share their addresses through a directory "
       "that was removed, or that this program cannot reach (" +
           name +
           "). What to do: end them and start them again; if they are in other containers, give "
           "these the same /dev/shm"});
}

/// The directory that running processes of the user share; ENOENT: there are none.
Expected<NetworkDirectory, EngineError> find_living(const std::vector<std::string>& places,
                                                    const std::string& network) {
  const std::string prefix = network_directory_prefix(network);
  const auto links = find_beacons(prefix, geteuid());
  if (links.empty()) return Unexpected<EngineError>({ENOENT, ""});
  for (const BeaconLink& link : links) {
    if (link.directory_name != links[0].directory_name) return apart(link.directory_name);
  }
  const std::string& name = links[0].directory_name;
  for (const std::string& place : places) {
    const auto user = open_user_directory(place, IfMissing::kFail);
    if (!user) continue;
    auto found = reopen_network_directory(*user, name);
    if (found || is_lack_of_resources(found.error())) return found;
  }
  for (const BeaconLink& link : find_beacons(prefix, geteuid(), kMostAsked)) {
    auto directory = receive_directory(link);
    if (!directory) continue;
    if (auto found = adopt_network_directory(*std::move(directory), name)) return found;
  }
  return apart(name);
}

}  // namespace

void SharingDirectory::prepare() {
  Directories::instance();
}

Expected<std::unique_ptr<SharingDirectory>, EngineError> SharingDirectory::open(
    const std::vector<std::string>& places, const std::string& network) {
  if (auto spare = check_descriptors(); !spare) return Unexpected<EngineError>(spare.error());
  auto directory = find_living(places, network);
  if (!directory && directory.error().errno_value == ENOENT) {
    directory = find_or_make(places, network);
  }
  if (!directory) return Unexpected<EngineError>(std::move(directory.error()));
  return std::unique_ptr<SharingDirectory>(new SharingDirectory(*std::move(directory), geteuid()));
}

Beacon SharingDirectory::make_beacon() const {
  return {directory_.fd.get(), directory_.name, geteuid()};
}

bool SharingDirectory::is_member(int socket) const {
  return is_peer_of_user(socket, user_) || is_peer_of_user(socket, geteuid());
}

// The kernel lets sockets share a port that are of one user when they are made.
Expected<void, EngineError> SharingDirectory::check_alone() const {
  const std::string prefix = directory_.name.substr(0, directory_.name.rfind('.') + 1);
  for (const uid_t user : {user_, geteuid()}) {
    const auto others = find_beacons(prefix, user, 1, directory_.name);
    if (!others.empty()) return apart(others[0].directory_name);
  }
  return {};
}

Expected<SharingDirectory*, EngineError> SharingDirectory::here() try {
  // Without /proc namespaces cannot be told apart: take all for one.
  const uint64_t number = network_namespace_number();
  Directories& directories = Directories::instance();
  std::lock_guard lock(directories.mutex);
  auto& directory = directories.open[number];
  if (directory == nullptr) {
    const auto network = network_identity();
    if (!network) {
      const int why = network.error().value;
      return Unexpected<EngineError>(
          {why, std::string("cannot tell which network this is: ") + std::strerror(why)});
    }
    auto opened = open(user_directory_places(), *network);
    if (!opened) return Unexpected<EngineError>(std::move(opened.error()));
    directory = *std::move(opened);
  }
  return directory.get();
} catch (const std::bad_alloc&) {
  return Unexpected<EngineError>({ENOMEM, "out of memory"});
}

UnixName SharingDirectory::name(SlotMarks::Socket kind, uint32_t slot) const {
  return socket_name(directory_.fd.get(), directory_.path,
                     directory_.marks.file(kind, slot).view());
}

Expected<FileDescriptor, Errno> SharingDirectory::open_file(const char* file) const {
  FileDescriptor fd(openat(directory_.fd.get(), file, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return error(errno);
  return fd;
}

Expected<FileDescriptor, Errno> SharingDirectory::take(uint64_t byte) const {
  auto fd = open_file("locks");
  if (!fd) return fd;
  const int failed = lock_byte(fd->get(), byte, ByteLock::kExclusive);
  if (failed != 0) return error(failed == EAGAIN ? EADDRINUSE : failed);
  return fd;
}

bool SharingDirectory::is_taken(uint64_t byte) const {
  return is_byte_locked(directory_.locks.get(), byte);
}

}  // namespace urxe
