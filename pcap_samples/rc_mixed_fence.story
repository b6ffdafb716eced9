# SPDX-License-Identifier: BSD-2-Clause
# A READ, a fenced WRITE and a fenced SEND, 4096 bytes each at path MTU 1024: one READ request with 4 responses; the WRITE
# begins only behind the last of them (frame 6 after frame 5), 4 packets, and so does the SEND, 4 packets. Two ACKs. Latencies
# are from the first packet of a message to the answer to its last: frames 1 to 5, 6 to 14, 10 to 15.
exit 0
violation_count 0
capture.frames 15
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 821
connections.0.ends.1.qpn 261
connections.0.unmatched_responses 0
connections.0.directions.0.packets 9
connections.0.directions.0.bytes 8192
connections.0.directions.0.path_mtu 1024
connections.0.directions.0.messages.read.sent 1
connections.0.directions.0.messages.read.answered 1
connections.0.directions.0.messages.read.bytes 4096
connections.0.directions.0.messages.read.latency_ns.min 1345000
connections.0.directions.0.messages.read.latency_ns.max 1345000
connections.0.directions.0.messages.write.sent 1
connections.0.directions.0.messages.write.answered 1
connections.0.directions.0.messages.write.bytes 4096
connections.0.directions.0.messages.write.latency_ns.min 755000
connections.0.directions.0.messages.write.latency_ns.max 755000
connections.0.directions.0.messages.send.sent 1
connections.0.directions.0.messages.send.answered 1
connections.0.directions.0.messages.send.bytes 4096
connections.0.directions.0.messages.send.latency_ns.min 2684000
connections.0.directions.0.messages.send.latency_ns.max 2684000
connections.0.directions.0.acks 2
connections.0.directions.0.read_responses 4
connections.0.directions.0.outstanding 0
connections.0.directions.0.silences.count 2
connections.0.directions.1.packets 0
