// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The headers of the standard library that most files include, compiled once for all of them. A
// file still includes what it uses: with -DURXE_PRECOMPILED_HEADERS=OFF nothing is precompiled.

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>
