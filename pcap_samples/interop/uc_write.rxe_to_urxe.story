# SPDX-License-Identifier: BSD-2-Clause
# UC WRITEs of 0, 1, 1024 and 3077 bytes, with a pause of 2.65 ms behind the first packet of the last one, and, on another
# queue pair, with immediate, of 0, 7 and 2057 bytes.
exit 0
violation_count 0
capture.frames 12
capture.bad_icrc 0
connections.0.service "UC"
connections.0.learnt_from "peer unknown"
connections.0.ends.0.qpn null
connections.0.ends.1.qpn 10708405
connections.0.unmatched_responses 0
connections.0.directions.0.packets 7
connections.0.directions.0.bytes 4102
connections.0.directions.0.messages.write.sent 4
connections.0.directions.0.messages.write.answered 0
connections.0.directions.0.messages.write.bytes 4102
connections.0.directions.0.silences.count 1
connections.1.service "UC"
connections.1.learnt_from "peer unknown"
connections.1.ends.0.qpn null
connections.1.ends.1.qpn 10708406
connections.1.directions.0.packets 5
connections.1.directions.0.bytes 2064
connections.1.directions.0.messages.write.sent 3
connections.1.directions.0.messages.write.answered 0
connections.1.directions.0.messages.write.bytes 2064
connections.1.directions.0.silences.count 0
connections.0.directions.0.outstanding 0
