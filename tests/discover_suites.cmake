# SPDX-License-Identifier: BSD-2-Clause
# Run by a build: writes the file FILE for ctest, in which each suite of the GoogleTest program PROGRAM is one test with
# the label unit, named PREFIX.Suite; skipped if all of it is. Errors end the build, as they do with gtest_discover_tests().
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE output RESULT_VARIABLE result TIMEOUT 60)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests ended with ${result}\n${output}")
endif()
# A line that is not indented is "Suite." or "Instance/Suite.", perhaps with a comment; those below it are its tests.
string(REGEX MATCHALL "\n[^ \n]+\\.[^\n]*\n  " lines "\n${output}")
set(tests "")
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^\n([^ ]+)\\..*$" "\\1" suite "${line}")
  string(APPEND tests "add_test(\"${PREFIX}.${suite}\" \"${PROGRAM}\" \"--gtest_filter=${suite}.*\" --gtest_brief=1)\n"
                      "set_tests_properties(\"${PREFIX}.${suite}\" PROPERTIES LABELS unit\n"
                      "  SKIP_REGULAR_EXPRESSION \"\\\\[  PASSED  \\\\] 0 tests\")\n")
endforeach()
if(tests STREQUAL "")
  message(FATAL_ERROR "${PROGRAM} has no tests")
endif()
file(WRITE ${FILE} "${tests}")
