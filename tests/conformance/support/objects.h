// SPDX-License-Identifier: BSD-2-Clause
// Owning pointers to verbs objects. An object that cannot be destroyed is a failure of the test.
#pragma once

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <cstring>
#include <memory>

namespace conformance {

template <auto Destroy>
struct Destroyer {
  template <typename T>
  void operator()(T* object) const {
    const int result = Destroy(object);
    EXPECT_EQ(result, 0) << "an object cannot be destroyed: " << std::strerror(result);
  }
};

using ContextPtr = std::unique_ptr<ibv_context, Destroyer<ibv_close_device>>;
using PdPtr = std::unique_ptr<ibv_pd, Destroyer<ibv_dealloc_pd>>;
using TdPtr = std::unique_ptr<ibv_td, Destroyer<ibv_dealloc_td>>;
using CqPtr = std::unique_ptr<ibv_cq, Destroyer<ibv_destroy_cq>>;
using QpPtr = std::unique_ptr<ibv_qp, Destroyer<ibv_destroy_qp>>;
using MrPtr = std::unique_ptr<ibv_mr, Destroyer<ibv_dereg_mr>>;
using MwPtr = std::unique_ptr<ibv_mw, Destroyer<ibv_dealloc_mw>>;
using AhPtr = std::unique_ptr<ibv_ah, Destroyer<ibv_destroy_ah>>;
using SrqPtr = std::unique_ptr<ibv_srq, Destroyer<ibv_destroy_srq>>;
using XrcdPtr = std::unique_ptr<ibv_xrcd, Destroyer<ibv_close_xrcd>>;
using DmPtr = std::unique_ptr<ibv_dm, Destroyer<ibv_free_dm>>;
using ChannelPtr = std::unique_ptr<ibv_comp_channel, Destroyer<ibv_destroy_comp_channel>>;

}  // namespace conformance
