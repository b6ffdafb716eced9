// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "tools/doctor/finding.h"

namespace urxe::doctor {

/// The file that runs when a program is started.
struct ProgramFacts {
  std::string name;        ///< as the user gives it
  std::string path;        ///< of the file; for a script its interpreter
  std::string lack;        ///< why the file cannot be read; empty: it can
  bool is_elf = false;     ///< the rest is about such files
  bool is_native = true;   ///< of this machine and word size
  std::string loader;      ///< the dynamic linker that it asks for; empty: it is linked statically
  bool is_loader = false;  ///< it is a dynamic linker itself, as in `ld.so PROG`
  bool is_secure = false;  ///< set-user-ID, set-group-ID or with file capabilities: it gains rights
  bool is_emptied = false;          ///< its arguments make it clear the environment: `env -i`
  bool first_line_empties = false;  ///< it is a script that `env -S -i` starts
};

/// `arguments`: those of the program, if it is known how it will be started.
ProgramFacts read_program(const std::string& name, const std::vector<std::string>& arguments = {});

/// Whether the object that `urxe run` preloads gets into the program.
Finding judge_program(const ProgramFacts& facts);

}  // namespace urxe::doctor
