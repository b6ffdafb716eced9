// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace urxe::doctor {

/// The index among arguments of env(1) of the program that it starts; their number if there is
/// none.
size_t env_program_at(const std::vector<std::string>& arguments);

/// The arguments that env(1) has in the first line of a script, where the kernel gives it all words
/// as one: behind `-S` they are split. Quotes are not looked into.
std::vector<std::string> env_arguments_of(const std::string& line);

/// Whether env(1) with these arguments starts a program without the variables of `urxe run`: with
/// `-i`, and without an LD_PRELOAD that is given anew.
bool env_clears(const std::vector<std::string>& arguments);

}  // namespace urxe::doctor
