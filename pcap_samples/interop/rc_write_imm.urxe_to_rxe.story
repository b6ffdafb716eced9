# SPDX-License-Identifier: BSD-2-Clause
# WRITEs with immediate of 0, 7, 1024 and 2057 bytes; the second one comes again in frame 4, 4.4 ms later, a probe, and rxe
# sends two ACKs with the same MSN: the immediate is delivered once.
exit 0
violation_count 0
capture.frames 12
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "psn"
connections.0.ends.0.qpn 9627522
connections.0.ends.1.qpn 29
connections.0.unmatched_responses 0
connections.0.directions.0.packets 7
connections.0.directions.0.bytes 3095
connections.0.directions.0.messages.write.sent 4
connections.0.directions.0.messages.write.answered 4
connections.0.directions.0.messages.write.bytes 3088
connections.0.directions.0.acks 5
connections.0.directions.0.outstanding 0
connections.0.directions.1.packets 0
connections.0.directions.0.repeats.probe 1
connections.0.directions.0.timeouts 0
connections.0.directions.0.repeated_responses 1
connections.0.directions.0.repeats.duplicate 0
connections.0.directions.0.lost_before 0
connections.0.directions.0.lost_after 0
