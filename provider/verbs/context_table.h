// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <mutex>
#include <vector>

namespace urxe {

class Context;

/// The open contexts of this process, where ibv_import_device() and its kin find what is imported.
/// In the child of a fork() it is empty. Never destroyed: exit handlers may still use it.
class ContextTable {
 public:
  static ContextTable& instance();

  /// Throws std::bad_alloc.
  void add(Context& context);
  void remove(Context& context);

  /// The device of the context whose command descriptor, or a copy of it, is `cmd_fd`. Null: there
  /// is none in this process.
  ibv_device* find_device(int cmd_fd);
  /// What the asynchronous events of the context with that command descriptor are read from; -1.
  int find_async_fd(int cmd_fd);

  /// Calls `visit(Context&)` for each context of the same device, until it returns true. No context
  /// is closed meanwhile.
  template <class Visit>
  bool any_of_device(const Context& of, Visit visit) {
    std::lock_guard lock(mutex_);
    for (Context* context : contexts_) {
      if (have_one_device(*context, of) && visit(*context)) return true;
    }
    return false;
  }

 private:
  ContextTable();
  static bool have_one_device(const Context& a, const Context& b);

  std::mutex mutex_;  ///< comes before devices' locks
  std::vector<Context*> contexts_;
};

}  // namespace urxe
