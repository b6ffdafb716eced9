# SPDX-License-Identifier: BSD-2-Clause
# Two queue pairs that only send. The first: WRITEs of 1, 1024 and 3077 bytes; the second: with immediate, of 0, 7 and 2057
# bytes. Nobody answers, so the silences of 0.3 s between them are nobody's fault, and nothing is outstanding.
exit 0
violation_count 0
capture.frames 11
capture.bad_icrc 0
connections.0.service "UC"
connections.0.learnt_from "peer unknown"
connections.0.ends.0.qpn null
connections.0.ends.1.qpn 270
connections.0.unmatched_responses 0
connections.0.directions.0.packets 6
connections.0.directions.0.bytes 4102
connections.0.directions.0.first_frame 1
connections.0.directions.0.messages.write.sent 3
connections.0.directions.0.messages.write.answered 0
connections.0.directions.0.messages.write.bytes 4102
connections.0.directions.0.silences.count 0
connections.1.service "UC"
connections.1.learnt_from "peer unknown"
connections.1.ends.0.qpn null
connections.1.ends.1.qpn 271
connections.1.directions.0.packets 5
connections.1.directions.0.bytes 2064
connections.1.directions.0.first_frame 7
connections.1.directions.0.messages.write.sent 3
connections.1.directions.0.messages.write.answered 0
connections.1.directions.0.messages.write.bytes 2064
connections.1.directions.0.silences.count 0
connections.0.directions.0.outstanding 0
connections.0.directions.0.turn "nobody"
connections.1.directions.0.outstanding 0
connections.1.directions.0.start_ns 1003741000
