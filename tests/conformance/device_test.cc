// SPDX-License-Identifier: BSD-2-Clause
// The device, its port, GIDs, P_Keys and GUID.
#include <infiniband/verbs.h>
#include <net/if.h>

#include <vector>

#include "tests/conformance/support/fixture.h"

namespace conformance {
namespace {

struct DeviceQuery : Conformance {};

TEST_F(DeviceQuery, LimitsAreUsable) {
  checks("ibv_query_device(3)");
  const ibv_device_attr& attr = device_.attr.orig_attr;
  EXPECT_GT(attr.max_qp, 0);
  EXPECT_GT(attr.max_qp_wr, 0);
  EXPECT_GT(attr.max_sge, 0);
  EXPECT_GT(attr.max_cq, 0);
  EXPECT_GT(attr.max_cqe, 0);
  EXPECT_GT(attr.max_mr, 0);
  EXPECT_GT(attr.max_pd, 0);
  EXPECT_GT(attr.max_mr_size, 0U);
  EXPECT_GT(attr.max_qp_rd_atom, 0);
  EXPECT_GE(attr.max_res_rd_atom, attr.max_qp_rd_atom);
  EXPECT_GE(attr.max_pkeys, 1);
  EXPECT_GE(attr.phys_port_cnt, 1);
  EXPECT_NE(attr.page_size_cap & 4096U, 0U) << "pages of 4 KiB";
  EXPECT_NE(attr.fw_ver[0], '\0');
}

TEST_F(DeviceQuery, ExtendedQueryAgrees) {
  checks("ibv_query_device_ex(3)");
  ibv_device_attr plain{};
  ASSERT_EQ(ibv_query_device(context(), &plain), 0);
  const ibv_device_attr& extended = device_.attr.orig_attr;
  EXPECT_EQ(extended.max_qp, plain.max_qp);
  EXPECT_EQ(extended.max_cqe, plain.max_cqe);
  EXPECT_EQ(extended.node_guid, plain.node_guid);
  EXPECT_EQ(extended.device_cap_flags, plain.device_cap_flags);
  EXPECT_EQ(extended.phys_port_cnt, plain.phys_port_cnt);
  EXPECT_GE(device_.attr.phys_port_cnt_ex, extended.phys_port_cnt);
  EXPECT_EQ(static_cast<uint32_t>(device_.attr.device_cap_flags_ex), extended.device_cap_flags);
}

// Capabilities that come with verbs; each family tests that the verbs are there.
TEST_F(DeviceQuery, SrqLimitsAgreeWithThePresenceOfSrqs) {
  checks("ibv_query_device(3): max_srq, max_srq_wr, max_srq_sge");
  const ibv_device_attr& attr = device_.attr.orig_attr;
  EXPECT_EQ(attr.max_srq > 0, attr.max_srq_wr > 0);
  EXPECT_EQ(attr.max_srq > 0, attr.max_srq_sge > 0);
}

TEST_F(DeviceQuery, MulticastLimitsAgree) {
  checks("ibv_query_device(3): max_mcast_grp, max_mcast_qp_attach, max_total_mcast_qp_attach");
  const ibv_device_attr& attr = device_.attr.orig_attr;
  EXPECT_EQ(attr.max_mcast_grp > 0, attr.max_mcast_qp_attach > 0);
  EXPECT_GE(attr.max_total_mcast_qp_attach, attr.max_mcast_qp_attach);
}

TEST_F(DeviceQuery, AtomicsCanBeHad) {
  checks("ibv_query_device(3): atomic_cap");
  EXPECT_NE(device_.attr.orig_attr.atomic_cap, IBV_ATOMIC_NONE);
}

TEST_F(DeviceQuery, NodeGuidIsTheDevices) {
  checks("ibv_get_device_guid(3)");
  EXPECT_NE(device_.attr.orig_attr.node_guid, 0U);
  EXPECT_EQ(ibv_get_device_guid(context()->device), device_.attr.orig_attr.node_guid);
}

TEST_F(DeviceQuery, NodeIsAChannelAdapter) {
  checks("ibv_get_device_list(3): node_type, transport_type");
  EXPECT_EQ(context()->device->node_type, IBV_NODE_CA);
  EXPECT_EQ(context()->device->transport_type, IBV_TRANSPORT_IB);
}

TEST_F(DeviceQuery, TwoContextsOfOneDevice) {
  checks("ibv_open_device(3)");
  const Device second = Device::open();
  ASSERT_NE(second.context, nullptr);
  EXPECT_EQ(second.attr.orig_attr.node_guid, device_.attr.orig_attr.node_guid);
  const PdPtr pd(ibv_alloc_pd(second.context.get()));
  EXPECT_NE(pd, nullptr);
}

TEST_F(DeviceQuery, PortIsActive) {
  checks("ibv_query_port(3)");
  const ibv_port_attr& port = device_.port_attr;
  EXPECT_EQ(port.state, IBV_PORT_ACTIVE);
  EXPECT_EQ(port.phys_state, 5) << "link up";
  EXPECT_GE(port.max_mtu, port.active_mtu);
  EXPECT_GE(port.active_mtu, IBV_MTU_256);
  EXPECT_LE(port.max_mtu, IBV_MTU_4096);
  EXPECT_GE(port.gid_tbl_len, 1);
  EXPECT_GE(port.pkey_tbl_len, 1);
  EXPECT_GT(port.max_msg_sz, 0U);
  EXPECT_GT(port.active_speed, 0);
  EXPECT_GT(port.active_width, 0);
}

TEST_F(DeviceQuery, RocePortNeedsGrhs) {
  checks("ibv_query_port(3): link_layer, IBV_QPF_GRH_REQUIRED");
  const ibv_port_attr& port = device_.port_attr;
  if (!need_if_any(port.link_layer == IBV_LINK_LAYER_ETHERNET, "a RoCE port")) return;
  EXPECT_NE(port.flags & IBV_QPF_GRH_REQUIRED, 0);
}

TEST_F(DeviceQuery, PortsThatAreNotThere) {
  checks("ibv_query_port(3): port_num");
  ibv_port_attr port{};
  EXPECT_NE(ibv_query_port(context(), 0, &port), 0);
  const int beyond = device_.attr.orig_attr.phys_port_cnt + 1;
  EXPECT_NE(ibv_query_port(context(), static_cast<uint8_t>(beyond), &port), 0);
}

TEST_F(DeviceQuery, GidOfTheIndexInUse) {
  checks("ibv_query_gid(3)");
  EXPECT_FALSE(device_.gid.global.interface_id == 0 && device_.gid.global.subnet_prefix == 0);
  ibv_gid gid{};
  EXPECT_NE(ibv_query_gid(context(), device_.port, device_.port_attr.gid_tbl_len + 1000, &gid), 0);
}

TEST_F(DeviceQuery, ExtendedGidAgrees) {
  checks("ibv_query_gid_ex(3)");
  ibv_gid_entry entry{};
  ASSERT_EQ(ibv_query_gid_ex(context(), device_.port, device_.gid_index, &entry, 0), 0);
  EXPECT_EQ(std::memcmp(&entry.gid, &device_.gid, sizeof entry.gid), 0);
  EXPECT_EQ(entry.gid_index, device_.gid_index);
  EXPECT_EQ(entry.port_num, device_.port);
  if (device_.port_attr.link_layer != IBV_LINK_LAYER_ETHERNET) return;
  EXPECT_TRUE(entry.gid_type == IBV_GID_TYPE_ROCE_V2 || entry.gid_type == IBV_GID_TYPE_ROCE_V1);
  // 0: the kernel has no interface for the device.
  char name[IF_NAMESIZE];
  EXPECT_TRUE(entry.ndev_ifindex == 0 || if_indextoname(entry.ndev_ifindex, name) != nullptr);
}

TEST_F(DeviceQuery, GidTableHasTheEntry) {
  checks("ibv_query_gid_table(3)");
  std::vector<ibv_gid_entry> entries(1024);
  const ssize_t count = ibv_query_gid_table(context(), entries.data(), entries.size(), 0);
  ASSERT_GT(count, 0) << count;
  bool found = false;
  for (ssize_t i = 0; i < count; ++i) {
    const ibv_gid_entry& entry = entries[static_cast<size_t>(i)];
    found |= entry.gid_index == device_.gid_index && entry.port_num == device_.port &&
             std::memcmp(&entry.gid, &device_.gid, sizeof entry.gid) == 0;
  }
  EXPECT_TRUE(found);
}

TEST_F(DeviceQuery, DefaultPkeyIsThere) {
  checks("ibv_query_pkey(3)");
  __be16 pkey = 0;
  ASSERT_EQ(ibv_query_pkey(context(), device_.port, 0, &pkey), 0);
  EXPECT_EQ(pkey, 0xffff);
  EXPECT_EQ(ibv_get_pkey_index(context(), device_.port, pkey), 0);
  EXPECT_NE(ibv_query_pkey(context(), device_.port, device_.port_attr.pkey_tbl_len + 1000, &pkey),
            0);
}

TEST_F(DeviceQuery, AsyncDescriptorIsOpen) {
  checks("ibv_open_device(3): async_fd; ibv_get_async_event(3)");
  EXPECT_GE(context()->async_fd, 0);
  EXPECT_GE(context()->num_comp_vectors, 1);
  expect_no_event(context());
}

}  // namespace
}  // namespace conformance
