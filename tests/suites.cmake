# SPDX-License-Identifier: BSD-2-Clause
# How tests are declared. Each has a name that begins with its suite's prefix, and at least one label:
#
#   unit    one part, in one process; also under the sanitizers
#   lint    the sources themselves
#   sim     the seeded simulator; also under the sanitizers
#   stock   programs over urxe, also under the sanitizers; all of them are `system` as well
#   system  programs over urxe
#   interop other implementations
#   engine  programs over urxe, by an engine other than that of the test whose name they begin with; only if asked for
#
# Further labels choose among them; udp, raw and dpdk name the engine.

# The code of unit tests is compiled more often than it runs: without optimisation, a third faster.
add_library(urxe_test_precompiled OBJECT support/precompiled.cc)
target_link_libraries(urxe_test_precompiled PRIVATE urxe_options GTest::gtest)
target_compile_options(urxe_test_precompiled PRIVATE -O0)
if(URXE_PRECOMPILED_HEADERS)
  target_precompile_headers(urxe_test_precompiled PRIVATE support/precompiled.h)
endif()

# urxe_precompile_test(TARGET): TARGET, compiled with the options of tests/ and -O0, uses support/precompiled.h.
function(urxe_precompile_test target)
  target_compile_options(${target} PRIVATE -O0)
  if(URXE_PRECOMPILED_HEADERS)
    target_precompile_headers(${target} REUSE_FROM urxe_test_precompiled)
    target_compile_options(${target} PRIVATE $<TARGET_PROPERTY:GTest::gtest,INTERFACE_COMPILE_OPTIONS>)
  endif()
endfunction()

# Builds what the tests labelled unit or lint use: all that `tests/run --quick` builds. The functions below add to it.
add_custom_target(urxe_quick)

# urxe_unit_suite(PROGRAM PREFIX prefix [SINGLE_THREADED] [SOURCES s...] [LIBRARIES l...] [DEFINITIONS d...]):
# the tests of a program that uses GoogleTest, named prefix.Suite.Test and labelled unit. Without SOURCES the program is
# made of all .cc files of the folder. SINGLE_THREADED: the thread sanitizer has nothing to find in it, and its builds
# leave it out.
function(urxe_unit_suite program)
  cmake_parse_arguments(PARSE_ARGV 1 suite "SINGLE_THREADED" "PREFIX" "SOURCES;LIBRARIES;DEFINITIONS")
  if(suite_UNPARSED_ARGUMENTS OR NOT suite_PREFIX)
    message(FATAL_ERROR "urxe_unit_suite(${program}): wrong arguments: ${suite_UNPARSED_ARGUMENTS}")
  endif()
  if(suite_SINGLE_THREADED AND URXE_SANITIZE MATCHES "thread")
    return()
  endif()
  if(NOT suite_SOURCES)
    file(GLOB suite_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  endif()
  add_executable(${program} ${suite_SOURCES})
  target_compile_definitions(${program} PRIVATE ${suite_DEFINITIONS})
  target_link_libraries(${program} PRIVATE urxe_options ${suite_LIBRARIES} GTest::gtest_main)
  urxe_precompile_test(${program})
  add_dependencies(urxe_quick ${program})
  if(URXE_SANITIZE)
    urxe_discover_suites(${program} ${suite_PREFIX})
  else()
    gtest_discover_tests(${program} TEST_PREFIX ${suite_PREFIX}. PROPERTIES LABELS unit DISCOVERY_TIMEOUT 60)
  endif()
endfunction()

# urxe_discover_suites(PROGRAM PREFIX): one test a suite, prefix.Suite. Under a sanitizer most tests take less time than
# a process takes to start; and tests that run after each other find what one leaves behind.
function(urxe_discover_suites program prefix)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${program}_suites.cmake)
  set(script ${CMAKE_SOURCE_DIR}/tests/discover_suites.cmake)
  add_custom_command(TARGET ${program} POST_BUILD BYPRODUCTS ${file} VERBATIM
                     COMMAND ${CMAKE_COMMAND} -D PROGRAM=$<TARGET_FILE:${program}> -D PREFIX=${prefix} -D FILE=${file}
                             -P ${script})
  set_property(TARGET ${program} APPEND PROPERTY LINK_DEPENDS ${script})
  # In a build that is not complete, only the tests of this program are missing.
  set(include ${CMAKE_CURRENT_BINARY_DIR}/${program}_include.cmake)
  file(WRITE ${include} "if(EXISTS \"${file}\")\n  include(\"${file}\")\nelse()\n"
                        "  add_test(${prefix}.NOT_BUILT ${program})\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${include})
endfunction()

# urxe_test(NAME LABELS label... COMMAND c... [NEEDS target...] [TIMEOUT s] [ENVIRONMENT v...] [PROCESSORS n]):
# any other test. It may skip by the exit code 77. NEEDS: the targets that a test labelled unit or lint uses beside those
# that its command names.
function(urxe_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "" "TIMEOUT;PROCESSORS" "LABELS;COMMAND;NEEDS;ENVIRONMENT")
  if(test_UNPARSED_ARGUMENTS OR NOT test_LABELS OR NOT test_COMMAND)
    message(FATAL_ERROR "urxe_test(${name}): wrong arguments: ${test_UNPARSED_ARGUMENTS}")
  endif()
  # As a target it would be run in the emulator of a cross-build.
  list(TRANSFORM test_COMMAND REPLACE "^Python3::Interpreter$" "${Python3_EXECUTABLE}")
  add_test(NAME ${name} COMMAND ${test_COMMAND})
  set_tests_properties(${name} PROPERTIES LABELS "${test_LABELS}" SKIP_RETURN_CODE 77)
  if("unit" IN_LIST test_LABELS OR "lint" IN_LIST test_LABELS)
    foreach(word IN LISTS test_COMMAND)
      string(REGEX REPLACE "^\\$<TARGET_FILE:(.*)>$" "\\1" word "${word}")
      if(TARGET "${word}" AND NOT word MATCHES "::")  # an interpreter, say, is there already
        list(APPEND test_NEEDS ${word})
      endif()
    endforeach()
    if(test_NEEDS)
      add_dependencies(urxe_quick ${test_NEEDS})
    endif()
  endif()
  foreach(property TIMEOUT PROCESSORS)
    if(test_${property})
      set_tests_properties(${name} PROPERTIES ${property} ${test_${property}})
    endif()
  endforeach()
  if(test_ENVIRONMENT)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${test_ENVIRONMENT}")
  endif()
endfunction()
