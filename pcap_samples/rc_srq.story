# SPDX-License-Identifier: BSD-2-Clause
# SENDs of 1, 64 and 3077 bytes to a queue pair with a shared receive queue. 6 packets, an ACK a message; the ACKs
# carry no credits (syndrome 0x1f), as is the rule with a shared receive queue.
exit 0
violation_count 0
capture.frames 9
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 827
connections.0.ends.1.qpn 267
connections.0.unmatched_responses 0
connections.0.directions.0.packets 6
connections.0.directions.0.bytes 3142
connections.0.directions.0.messages.send.sent 3
connections.0.directions.0.messages.send.answered 3
connections.0.directions.0.messages.send.bytes 3142
connections.0.directions.0.messages.send.latency_ns.min 433000
connections.0.directions.0.messages.send.latency_ns.max 2776000
connections.0.directions.0.acks 3
connections.0.directions.0.outstanding 0
connections.0.directions.1.packets 0
