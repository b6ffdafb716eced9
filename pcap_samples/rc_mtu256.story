# SPDX-License-Identifier: BSD-2-Clause
# Path MTU 256, a queue pair each: SENDs of 0, 1, 3, 64, 255, 256, 257, 512 and 773 bytes, the same as WRITEs, then READs of
# 0, 1, 64, 256, 257, 512 and 2051 bytes and, all at once, 4 of 5000 bytes, which have 20 responses each. One ACK a message.
# The path MTU shows in the READ responses "first" and "middle" alone. Lengths without the pad, counted from the packets.
exit 0
violation_count 0
capture.frames 154
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 824
connections.0.ends.1.qpn 264
connections.0.unmatched_responses 0
connections.0.directions.0.packets 14
connections.0.directions.0.bytes 2121
connections.0.directions.0.messages.send.sent 9
connections.0.directions.0.messages.send.answered 9
connections.0.directions.0.messages.send.bytes 2121
connections.0.directions.0.acks 9
connections.0.directions.1.packets 0
connections.1.service "RC"
connections.1.learnt_from "psn"
connections.1.ends.0.qpn 825
connections.1.ends.1.qpn 265
connections.1.directions.0.packets 14
connections.1.directions.0.bytes 2121
connections.1.directions.0.messages.write.sent 9
connections.1.directions.0.messages.write.answered 9
connections.1.directions.0.messages.write.bytes 2121
connections.1.directions.0.acks 9
connections.2.service "RC"
connections.2.learnt_from "psn"
connections.2.ends.0.qpn 826
connections.2.ends.1.qpn 266
connections.2.directions.0.packets 11
connections.2.directions.0.path_mtu 256
connections.2.directions.0.messages.read.sent 11
connections.2.directions.0.messages.read.answered 11
connections.2.directions.0.messages.read.bytes 23141
connections.2.directions.0.read_responses 97
