// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string_view>

namespace urxe::analyze {

/// The page of `urxe analyze --html` before and behind its data: the files of the folder page/, put
/// together by CMake.
extern const std::string_view kPageHead;
extern const std::string_view kPageTail;

}  // namespace urxe::analyze
