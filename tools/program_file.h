// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace urxe {

/// Where execvp() finds the program; the name itself if it finds none.
std::string resolve_program(const std::string& program);

/// The file that runs if execvp() is called with `program`: for a script its interpreter, or for
/// "#!/usr/bin/env python3" what env starts.
std::string executed_file(const std::string& program);

/// Whether it is a script whose first line has env(1) clear the environment: "#!/usr/bin/env -S -i
/// prog".
bool env_clears_for(const std::string& program);

}  // namespace urxe
