# SPDX-License-Identifier: BSD-2-Clause
# A READ, a fenced WRITE and a fenced SEND, 4096 bytes each: rxe waits 1.557 ms behind the last READ response before it sends the
# WRITE, and urxe answers WRITE and SEND by one ACK (frame 14, MSN 3). So both latencies end with frame 14.
exit 0
violation_count 0
capture.frames 14
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 42
connections.0.ends.1.qpn 9916194
connections.0.unmatched_responses 0
connections.0.directions.0.packets 9
connections.0.directions.0.bytes 8192
connections.0.directions.0.path_mtu 1024
connections.0.directions.0.messages.read.sent 1
connections.0.directions.0.messages.read.answered 1
connections.0.directions.0.messages.read.bytes 4096
connections.0.directions.0.messages.read.latency_ns.min 145000
connections.0.directions.0.messages.read.latency_ns.max 145000
connections.0.directions.0.messages.write.sent 1
connections.0.directions.0.messages.write.answered 1
connections.0.directions.0.messages.write.bytes 4096
connections.0.directions.0.messages.write.latency_ns.min 77000
connections.0.directions.0.messages.write.latency_ns.max 77000
connections.0.directions.0.messages.send.sent 1
connections.0.directions.0.messages.send.answered 1
connections.0.directions.0.messages.send.bytes 4096
connections.0.directions.0.messages.send.latency_ns.min 41000
connections.0.directions.0.messages.send.latency_ns.max 41000
connections.0.directions.0.acks 1
connections.0.directions.0.read_responses 4
connections.0.directions.0.outstanding 0
connections.0.directions.0.silences.count 0
connections.0.directions.1.packets 0
