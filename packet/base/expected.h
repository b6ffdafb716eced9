// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <tl/expected.hpp>

namespace urxe {

/// A value, or why there is none.
template <class T, class E>
using Expected = tl::expected<T, E>;

template <class E>
using Unexpected = tl::unexpected<E>;

/// An errno value (EINVAL, ENOMEM, ...): the result of a call that cannot be carried out.
struct Errno {
  int value = 0;
  friend constexpr bool operator==(Errno, Errno) = default;
};

inline Unexpected<Errno> error(int errno_value) {
  return Unexpected<Errno>(Errno{errno_value});
}

}  // namespace urxe
