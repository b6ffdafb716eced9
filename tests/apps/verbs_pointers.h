// SPDX-License-Identifier: BSD-2-Clause
// Owning pointers to verbs objects.
#pragma once

#include <infiniband/verbs.h>

#include <memory>

namespace verbs {

template <auto Destroy>
struct Destroyer {
  template <typename T>
  void operator()(T* object) const {
    Destroy(object);
  }
};

using ContextPtr = std::unique_ptr<ibv_context, Destroyer<ibv_close_device>>;
using PdPtr = std::unique_ptr<ibv_pd, Destroyer<ibv_dealloc_pd>>;
using CqPtr = std::unique_ptr<ibv_cq, Destroyer<ibv_destroy_cq>>;
using SrqPtr = std::unique_ptr<ibv_srq, Destroyer<ibv_destroy_srq>>;
using AhPtr = std::unique_ptr<ibv_ah, Destroyer<ibv_destroy_ah>>;
using QpPtr = std::unique_ptr<ibv_qp, Destroyer<ibv_destroy_qp>>;
using MrPtr = std::unique_ptr<ibv_mr, Destroyer<ibv_dereg_mr>>;
using ChannelPtr = std::unique_ptr<ibv_comp_channel, Destroyer<ibv_destroy_comp_channel>>;

}  // namespace verbs
