// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cerrno>
#include <type_traits>

#include "packet/host/throwing.h"
#include "packet/host/uncancelled.h"
#include "provider/runtime/errors.h"
#include "provider/verbs/handles.h"

namespace urxe {

/// A verb as libibverbs calls it. The operations table points to one of these functions.
template <auto kVerb>
struct Entry;

template <class Result, class... Arguments, Result (*kVerb)(Arguments...) noexcept>
struct Entry<kVerb> {
  /// Calls the verb, and sets errno if it fails, for perror(); else leaves it as it was: librdmacm
  /// destroys objects between a failure and its return. Says on stderr if a limit of the process
  /// keeps it from making an object.
  static Result reporting(Arguments... arguments) noexcept {
    const int before = errno;
    const Result result = kVerb(arguments...);
    if constexpr (std::is_same_v<Result, int>) {
      errno = result != 0 ? result : before;
    } else if constexpr (std::is_pointer_v<Result>) {
      if (result != nullptr) [[likely]] {
        errno = before;
      } else if (errno != EAGAIN) {
        // EAGAIN has other reasons, too; whoever starts a thread says if there are too few.
        report_lack("make an object of verbs", errno);
      }
    }
    return result;
  }

  /// The same, after checking the first argument, an object. For verbs that end objects, which
  /// cannot throw.
  static Result on_object(Arguments... arguments) noexcept {
    const Uncancelled uncancelled;
    if (const int wrong = check_first(arguments...); wrong != 0) [[unlikely]] {
      return refuse(wrong);
    }
    return reporting(arguments...);
  }

  /// The same for any other verb, which may throw.
  static Result checking(Arguments... arguments) noexcept {
    const Uncancelled uncancelled;
    if (!can_throw()) [[unlikely]] {
      report_lack("make an object of verbs", ENOMEM);
      return refuse(ENOMEM);
    }
    return on_object(arguments...);
  }

 private:
  static Result refuse(int wrong) {
    if constexpr (std::is_same_v<Result, int>) {
      return errno = wrong;
    } else {
      return fail(wrong);
    }
  }
  template <class First, class... Rest>
  static int check_first(First first, Rest... /*rest*/) {
    return check_handle(first);
  }
};

}  // namespace urxe
