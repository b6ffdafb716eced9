# SPDX-License-Identifier: BSD-2-Clause
# A toolchain file for CMake: Debian's cross compiler for arm64, and libraries that tools/cross/make-sysroot has unpacked.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

get_filename_component(urxe_root ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
set(URXE_SYSROOT ${urxe_root}/build/sysroot-arm64 CACHE PATH "Where the headers and libraries of arm64 are")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES URXE_SYSROOT)
if(NOT EXISTS ${URXE_SYSROOT}/usr/include/infiniband/verbs.h)
  message(FATAL_ERROR "There is no ${URXE_SYSROOT}/usr/include/infiniband/verbs.h: tests/arm64 makes the folder")
endif()
set(CMAKE_SYSROOT ${URXE_SYSROOT})
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(libraries ${URXE_SYSROOT}/usr/lib/aarch64-linux-gnu)
set(ENV{PKG_CONFIG_LIBDIR} ${libraries}/pkgconfig:${URXE_SYSROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${URXE_SYSROOT})

# What runs the tests. It looks for files in the folder first.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${URXE_SYSROOT})
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
