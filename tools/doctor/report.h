// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "tools/doctor/finding.h"

namespace urxe::doctor {

/// A line for each finding, with its advice indented below. Bytes that are no printable ASCII
/// become '?': names of programs and devices are other users' to choose.
std::string format_text(const Findings& findings);

/// An object with the members "urxe" (the version), "problems" (their number) and "findings": an
/// array of objects with "name", "level" (ok, note, problem), "what" and, if there is any,
/// "advice".
std::string format_json(const Findings& findings);

/// 1 if there is a problem, else 0.
int exit_status(const Findings& findings);

}  // namespace urxe::doctor
