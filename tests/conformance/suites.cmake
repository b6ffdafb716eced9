# SPDX-License-Identifier: BSD-2-Clause
# The suites of urxe_conformance, one test each. Included by tests/system/CMakeLists.txt, whose function it uses.
#
# urxe offers all that they ask for, so a test that is skipped has failed (but see conformance.py). Not among them: Flush and CompCntr, which ask for a
# later libibverbs than Debian 12's (system.release.*), and DmaBuf, which asks for a dma-buf (interop.drill_dmabuf).
set(conformance_folder ${CMAKE_CURRENT_LIST_DIR})
set(suites Ah Apm Cq CqEx DataInOrder DeviceQuery Dm Domains Ece Events Import Mcast Mr MrRereg Mw
    Odp Pd QpAttributes QpBehaviour QpCreate QpStateTable RateLimit Rc RcErrors Srq Uc Ud Unsupported Waiting WrBatch WrBatchUd
    WrEx Xrc)

foreach(suite IN LISTS suites)
  urxe_system_test(conformance.${suite} "system;conformance;stock" ${conformance_folder}/conformance.py
                   ${suite}.*:*/${suite}.* --require-all)
endforeach()

urxe_system_test(conformance.largest_message "system;conformance" ${conformance_folder}/conformance.py
                 Rc.LargestMessage --require-all --slow)

# The second GID of urxe's loopback device is ::1.
foreach(suite Ah Rc Uc Ud)
  urxe_system_test(conformance.${suite}.ipv6 "system;conformance" ${conformance_folder}/conformance.py
                   ${suite}.* --require-all --gid-index 1)
endforeach()

# Each set of queues in the next of four lanes, so that most objects serve several. Left out is what needs that the receiver
# has seen a message before the sender goes on.
foreach(suite Cq Events Import Mr Mw Rc Srq Uc Ud Waiting Xrc)
  urxe_system_test(conformance.${suite}.lanes "system;conformance" ${conformance_folder}/conformance.py
                   ${suite}.*:*/${suite}.*-*.NoReceiveDropsTheMessage:*.InitDropsIncomingPackets --require-all --lanes 4)
endforeach()
