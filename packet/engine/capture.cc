// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/capture.h"

#include <utility>

namespace urxe {

Expected<std::unique_ptr<CaptureEngine>, EngineError> CaptureEngine::open(
    std::unique_ptr<PacketEngine> inner, const std::string& path) {
  auto writer = CaptureWriter::open(path);
  if (!writer) return Unexpected<EngineError>(std::move(writer.error()));
  return std::unique_ptr<CaptureEngine>(new CaptureEngine(std::move(inner), *std::move(writer)));
}

CaptureEngine::CaptureEngine(std::unique_ptr<PacketEngine> inner, CaptureWriter writer)
    : ForwardingEngine(std::move(inner)), writer_(std::move(writer)) {
  for (size_t i = 0; i < lanes(); ++i) {
    lanes_.push_back(std::make_unique<CapturedLane>(this->inner().lane(i), writer_));
  }
}

EnginePromises CaptureEngine::promises() const {
  EnginePromises promises = inner().promises();
  promises.integrity = false;
  return promises;
}

}  // namespace urxe
