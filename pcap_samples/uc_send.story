# SPDX-License-Identifier: BSD-2-Clause
# UC SENDs of 0, 1, 1024 and 3077 bytes, and, to another queue pair, with immediate, of 0, 10 and 2057 bytes. Nobody answers, so
# nobody's peer is known, nothing is outstanding, and the pauses between messages are no silences.
exit 0
violation_count 0
capture.frames 12
capture.bad_icrc 0
connections.0.service "UC"
connections.0.learnt_from "peer unknown"
connections.0.ends.0.qpn null
connections.0.ends.1.qpn 268
connections.0.unmatched_responses 0
connections.0.directions.0.packets 7
connections.0.directions.0.bytes 4102
connections.0.directions.0.first_frame 1
connections.0.directions.0.messages.send.sent 4
connections.0.directions.0.messages.send.answered 0
connections.0.directions.0.messages.send.bytes 4102
connections.0.directions.0.silences.count 0
connections.1.service "UC"
connections.1.learnt_from "peer unknown"
connections.1.ends.0.qpn null
connections.1.ends.1.qpn 269
connections.1.directions.0.packets 5
connections.1.directions.0.bytes 2067
connections.1.directions.0.first_frame 8
connections.1.directions.0.messages.send.sent 3
connections.1.directions.0.messages.send.answered 0
connections.1.directions.0.messages.send.bytes 2067
connections.1.directions.0.silences.count 0
connections.0.directions.0.outstanding 0
connections.0.directions.0.lost_messages 0
connections.1.directions.0.lost_messages 0
