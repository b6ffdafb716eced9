// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "packet/engine/engine_choice.h"
#include "tools/doctor/finding.h"

namespace urxe::doctor {

/// The engines that programs of this user could have.
struct EngineFacts {
  EngineChoice chosen = EngineChoice::kAuto;
  std::string raw_lack;   ///< why packet sockets cannot be had; empty: they can
  std::string dpdk_lack;  ///< why the plug-in cannot be read; empty: it can
};

/// `libraries`: the directory of the plug-in.
EngineFacts read_engines(EngineChoice chosen, const std::string& libraries);

/// A finding for each. Only the lack of a chosen one is a problem.
Findings judge_engines(const EngineFacts& facts);

}  // namespace urxe::doctor
