# SPDX-License-Identifier: BSD-2-Clause
# The same as rc_write over IPv6; the first ACK came after 1.263 ms.
exit 0
violation_count 0
capture.frames 23
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.address "fd77::2"
connections.0.ends.1.address "fd77::3"
connections.0.ends.0.qpn 816
connections.0.ends.1.qpn 256
connections.0.unmatched_responses 0
connections.0.directions.0.packets 14
connections.0.directions.0.bytes 8265
connections.0.directions.0.messages.write.sent 9
connections.0.directions.0.messages.write.answered 9
connections.0.directions.0.messages.write.bytes 8265
connections.0.directions.0.messages.write.latency_ns.min 286000
connections.0.directions.0.messages.write.latency_ns.max 1263000
connections.0.directions.0.acks 9
connections.0.directions.0.outstanding 0
connections.0.directions.0.silences.count 1
connections.0.directions.1.packets 0
connections.0.directions.0.lost_before 0
connections.0.directions.0.repeats.timeout 0
connections.0.directions.0.silences.longest.0.duration_ns 1263000
