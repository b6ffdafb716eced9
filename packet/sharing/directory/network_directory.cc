// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/directory/network_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "packet/host/byte_lock.h"
#include "packet/host/network_identity.h"
#include "packet/host/pause.h"
#include "packet/host/random.h"
#include "packet/sharing/holders/holder_memory.h"
#include "packet/sharing/slots/slot_table.h"

namespace urxe {
namespace {

constexpr const char* kDraft = ".net-draft";
constexpr int kLockAttempts = 5000;
constexpr timespec kLockPause{0, 1000000};
/// How long a directory stays that nobody uses: its namespace may still be there.
constexpr time_t kUnusedSeconds = 600;

EngineError describe(const std::string& path, int errno_value) {
  return {errno_value, path + ": " + std::strerror(errno_value)};
}

Unexpected<EngineError> failed_call(const std::string& path) {
  return Unexpected<EngineError>(describe(path, errno));
}

/// Keeps the user's other processes from opening, making and removing directories. Nobody else can
/// take it.
Expected<FileDescriptor, EngineError> lock_directory(const UserDirectory& user) {
  const std::string path = user.path + "/lock";
  FileDescriptor fd(openat(user.fd.get(), "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return failed_call(path);
  for (int attempt = 0; attempt < kLockAttempts; ++attempt) {
    if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
    if (errno != EWOULDBLOCK && errno != EINTR) return failed_call(path);
    pause_for(kLockPause);
  }
  return Unexpected<EngineError>(
      {EBUSY, path + " stays locked: a program of this user was stopped as it started. What to do: "
                     "let it go on (SIGCONT), or end it"});
}

std::string find_name(const UserDirectory& user, const std::string& prefix) {
  const auto entries = list_directory(user.fd.get());
  std::string found;
  while (const dirent* const entry = entries != nullptr ? readdir(entries.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name.starts_with(prefix) && (found.empty() || name < found)) found = name;
  }
  return found;
}

FileDescriptor open_directory(int in, const std::string& name) {
  return FileDescriptor(openat(in, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/// Opens the file "locks" of a directory, marks the directory as used, and reads its secret.
Expected<NetworkDirectory, EngineError> use(NetworkDirectory directory) {
  const std::string path = directory.path + "/locks";
  directory.locks =
      FileDescriptor(openat(directory.fd.get(), "locks", O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.locks) return failed_call(path);
  futimens(directory.locks.get(), nullptr);
  if (const int failed = lock_byte(directory.locks.get(), 0, ByteLock::kShared); failed != 0) {
    return Unexpected<EngineError>(describe(path, failed));
  }
  const auto secret = read_slot_secret(directory.fd.get());
  if (!secret) {
    return Unexpected<EngineError>(describe(directory.path + "/slots", secret.error().value));
  }
  directory.marks = SlotMarks(*secret);
  return directory;
}

Expected<NetworkDirectory, EngineError> join(const UserDirectory& user, const std::string& name) {
  NetworkDirectory found{name, user.path + "/" + name, open_directory(user.fd.get(), name), {}, {}};
  if (!found.fd) return failed_call(found.path);
  return use(std::move(found));
}

/// Removes the directory with its files. It has no directories in it.
void remove_directory(const UserDirectory& user, const std::string& name) {
  const FileDescriptor directory = open_directory(user.fd.get(), name);
  const auto entries = list_directory(directory.get());
  while (const dirent* const entry = entries != nullptr ? readdir(entries.get()) : nullptr) {
    (void)unlinkat(directory.get(), entry->d_name, 0);
  }
  unlinkat(user.fd.get(), name.c_str(), AT_REMOVEDIR);
}

/// Makes a file that everybody who can enter the directory may use, whatever the umask is. Returns
/// 0 or the errno.
template <class Fill>
int make_file(int directory, const char* name, Fill fill) {
  const FileDescriptor fd(
      openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd || fchmod(fd.get(), 0666) != 0) return errno;
  return fill(fd.get());
}

int make_files(int directory) {
  if (fchmod(directory, 0777) != 0) return errno;
  int failed = make_file(directory, "locks", [](int) { return 0; });
  if (failed == 0) failed = make_file(directory, "slots", make_slot_table);
  if (failed == 0) failed = make_file(directory, "held", HolderMemory::reserve);
  return failed;
}

Expected<std::string, EngineError> make(const UserDirectory& user, const std::string& prefix) {
  remove_directory(user, kDraft);  // of a process that was killed
  const std::string draft = user.path + "/" + kDraft;
  if (mkdirat(user.fd.get(), kDraft, 0700) != 0) return failed_call(draft);
  int failed = 0;
  {
    const FileDescriptor directory = open_directory(user.fd.get(), kDraft);
    failed = directory ? make_files(directory.get()) : errno;
  }
  char suffix[8];
  std::snprintf(suffix, sizeof suffix, "%06x", static_cast<unsigned>(random_number() & 0xffffff));
  const std::string name = prefix + suffix;
  if (failed == 0 && renameat(user.fd.get(), kDraft, user.fd.get(), name.c_str()) != 0) {
    failed = errno;
  }
  if (failed == 0) return name;
  remove_directory(user, kDraft);
  return Unexpected<EngineError>(describe(draft, failed));
}

/// Every process that has such a directory open locks it.
bool is_unused(const UserDirectory& user, const char* name) {
  char path[sizeof(dirent::d_name) + sizeof "/locks"];
  std::snprintf(path, sizeof path, "%s/locks", name);
  const FileDescriptor locks(openat(user.fd.get(), path, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  return locks && fstat(locks.get(), &status) == 0 &&
         status.st_mtime < time(nullptr) - kUnusedSeconds && lock_all_bytes(locks.get()) == 0;
}

/// With the lock held, so nobody begins to use one meanwhile. Other machines may have the file
/// system, too, but theirs have other names.
void remove_unused(const UserDirectory& user, const std::string& own) {
  const std::string prefix = network_directory_prefix(machine_identity() + "-");
  const std::string_view of_machine(prefix.data(), prefix.size() - 1);
  const auto entries = list_directory(user.fd.get());
  while (const dirent* const entry = entries != nullptr ? readdir(entries.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(of_machine) || name == own) continue;
    if (is_unused(user, entry->d_name)) remove_directory(user, entry->d_name);
  }
}

}  // namespace

std::string network_directory_prefix(const std::string& network) {
  return "net3-" + network + ".";
}

Expected<NetworkDirectory, EngineError> open_network_directory(const UserDirectory& user,
                                                               const std::string& network,
                                                               IfMissing if_missing) {
  const std::string prefix = network_directory_prefix(network);
  if (if_missing == IfMissing::kFail && find_name(user, prefix).empty()) {
    return Unexpected<EngineError>({ENOENT, user.path + "/" + prefix + "*: there is none"});
  }
  const auto lock = lock_directory(user);
  if (!lock) return Unexpected<EngineError>(lock.error());
  std::string name = find_name(user, prefix);
  if (name.empty()) {
    auto made = make(user, prefix);
    if (!made) return Unexpected<EngineError>(made.error());
    name = *std::move(made);
    remove_unused(user, name);
  }
  return join(user, name);
}

Expected<NetworkDirectory, EngineError> reopen_network_directory(const UserDirectory& user,
                                                                 const std::string& name) {
  const auto lock = lock_directory(user);
  if (!lock) return Unexpected<EngineError>(lock.error());
  return join(user, name);
}

Expected<NetworkDirectory, EngineError> adopt_network_directory(FileDescriptor fd,
                                                                const std::string& name) {
  return use({name, "", std::move(fd), {}, {}});
}

}  // namespace urxe
