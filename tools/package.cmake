# SPDX-License-Identifier: BSD-2-Clause
# `cpack` makes Debian packages: urxe, and urxe-dpdk with the DPDK engine.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME urxe)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The maintainers of urxe <urxe@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL urxe)
if(TARGET urxe_dpdk)
  list(APPEND CPACK_COMPONENTS_ALL dpdk)
endif()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_URXE_PACKAGE_NAME urxe)
set(CPACK_DEBIAN_URXE_DESCRIPTION "RDMA devices (RoCEv2) in user space
Unmodified programs of libibverbs and librdmacm run with RDMA devices on a
machine that has none, without a kernel module and without privileges.")
# libibverbs is loaded by the programs, not linked.
set(CPACK_DEBIAN_URXE_PACKAGE_DEPENDS "libibverbs1 (>= 36)")
set(CPACK_DEBIAN_URXE_PACKAGE_RECOMMENDS "ibverbs-utils, librdmacm1")
set(CPACK_DEBIAN_URXE_PACKAGE_SUGGESTS "rdmacm-utils, perftest")

set(CPACK_DEBIAN_DPDK_PACKAGE_NAME urxe-dpdk)
set(CPACK_DEBIAN_DPDK_DESCRIPTION "RDMA devices (RoCEv2) in user space: engine over DPDK
Ports of DPDK in place of network interfaces, for urxe run --engine dpdk.")
set(CPACK_DEBIAN_DPDK_PACKAGE_DEPENDS "urxe (= ${PROJECT_VERSION})")
include(CPack)
