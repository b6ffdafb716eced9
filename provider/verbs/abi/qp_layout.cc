// SPDX-License-Identifier: BSD-2-Clause
#include "provider/verbs/abi/qp_layout.h"

#include <cstring>

namespace urxe {
namespace {

/// VERBS_QP_EX of verbs_qp.comp_mask.
constexpr uint32_t kHasBuilders = 1U << 1;

void set_flag(abi::VerbsQp& qp, size_t offset) {
  std::memcpy(qp.bytes + offset, &kHasBuilders, sizeof kHasBuilders);
}

}  // namespace

std::optional<QpLayout> find_qp_layout(QpToQpEx to_qp_ex) noexcept {
  constexpr size_t kStep = sizeof(void*);  // the flags follow pointers
  for (size_t at = sizeof(ibv_qp); at + kStep <= abi::VerbsQp::kRoom; at += kStep) {
    abi::VerbsQp qp{};
    set_flag(qp, at);
    if (to_qp_ex(&qp.qp) != nullptr) return QpLayout{at};
  }
  return std::nullopt;
}

void announce_builders(const QpLayout& layout, abi::VerbsQp& qp) noexcept {
  set_flag(qp, layout.comp_mask);
}

void set_later_builders(const QpLayout& layout, abi::VerbsQp& qp,
                        void (*builder)(ibv_qp_ex*)) noexcept {
  constexpr size_t kFirst = QpLayout::kWrAtomicWrite + sizeof builder;
  for (size_t at = kFirst; at + sizeof builder <= layout.comp_mask; at += sizeof builder) {
    std::memcpy(qp.bytes + at, &builder, sizeof builder);
  }
}

void set_wr_flush(abi::VerbsQp& qp, WrFlush builder) noexcept {
  std::memcpy(qp.bytes + QpLayout::kWrFlush, &builder, sizeof builder);
}

}  // namespace urxe
