# SPDX-License-Identifier: BSD-2-Clause
# Three RNR NAKs of rxe; urxe sends again after 1.741 and 1.375 ms, at least the 1.28 ms of timer code 14 (syndrome 0x2e), and
# gives up after the third, because its RNR retry count is 2.
exit 1
violation_count 0
capture.frames 6
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 10482457
connections.0.ends.1.qpn 81
connections.0.unmatched_responses 0
connections.0.directions.0.packets 3
connections.0.directions.0.bytes 300
connections.0.directions.0.messages.send.sent 1
connections.0.directions.0.messages.send.answered 0
connections.0.directions.0.messages.send.bytes 100
connections.0.directions.0.rnr_naks 3
connections.0.directions.0.rnr_wait_ns.count 2
connections.0.directions.0.rnr_wait_ns.min 1375000
connections.0.directions.0.rnr_wait_ns.max 1741000
connections.0.directions.0.outstanding 1
connections.0.directions.1.packets 0
connections.0.directions.0.repeats.rnr_nak 2
connections.0.directions.0.lost_messages 1
connections.0.directions.0.turn "requester"
connections.0.directions.0.timeouts 0
