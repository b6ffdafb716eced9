# SPDX-License-Identifier: BSD-2-Clause
# SENDs with immediate of 0, 10, 1024 and 2057 bytes: the immediate's 4 bytes are none of these. The last one has packets
# "first", "middle" and "last with immediate".
exit 0
violation_count 0
capture.frames 10
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 813
connections.0.ends.1.qpn 253
connections.0.unmatched_responses 0
connections.0.directions.0.packets 6
connections.0.directions.0.bytes 3091
connections.0.directions.0.messages.send.sent 4
connections.0.directions.0.messages.send.answered 4
connections.0.directions.0.messages.send.bytes 3091
connections.0.directions.0.messages.send.latency_ns.min 330000
connections.0.directions.0.messages.send.latency_ns.max 679000
connections.0.directions.0.acks 4
connections.0.directions.0.outstanding 0
connections.0.directions.1.packets 0
