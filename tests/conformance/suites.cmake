# SPDX-License-Identifier: BSD-2-Clause
# The suites of urxe_conformance, one test each. Included by tests/system/CMakeLists.txt, whose function it uses.
#
# `required`: urxe offers all that the suite asks for, so a test that is skipped there has failed.
# `offered_later`: the suite skips what is not there yet.
# `not_right_yet_SUITE`: tests that are left out; to be emptied.
set(conformance_folder ${CMAKE_CURRENT_LIST_DIR})
set(required Ah Apm Cq CqEx DataInOrder DeviceQuery Dm Domains Ece Events Mcast Mr MrRereg Mw Odp Pd QpAttributes QpBehaviour
    QpCreate QpStateTable RateLimit Rc RcErrors Srq Uc Ud Unsupported WrBatch WrBatchUd WrEx Xrc)
set(offered_later)

foreach(suite IN LISTS required offered_later)
  set(filter "${suite}.*:*/${suite}.*")
  set(separator "-")
  foreach(test IN LISTS not_right_yet_${suite})
    string(APPEND filter "${separator}${suite}.${test}")
    set(separator ":")
  endforeach()
  set(strict)
  if(suite IN_LIST required)
    set(strict --require-all)
  endif()
  urxe_system_test(conformance.${suite} "system;conformance;stock" ${conformance_folder}/conformance.py
                   ${filter} ${strict})
endforeach()

# The second GID of urxe's loopback device is ::1.
foreach(suite Ah Rc Uc Ud)
  urxe_system_test(conformance.${suite}.ipv6 "system;conformance" ${conformance_folder}/conformance.py
                   ${suite}.* --require-all --gid-index 1)
endforeach()
