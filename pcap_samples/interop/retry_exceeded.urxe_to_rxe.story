# SPDX-License-Identifier: BSD-2-Clause
# A WRITE to a queue pair that is gone, and nothing but the same packet again at 20, 60, 67 and 134 ms: two probes, and the two
# repeats of retry count 2, one and two time-outs of 67.1 ms (code 14) after the first packet. Then it is given up: one message
# is lost. Each of the four pauses is a silence of the responder.
exit 1
violation_count 0
capture.frames 5
capture.bad_icrc 0
connections.0.service "RC"
connections.0.learnt_from "peer unknown"
connections.0.ends.0.qpn null
connections.0.ends.1.qpn 33
connections.0.unmatched_responses 0
connections.0.directions.0.packets 5
connections.0.directions.0.bytes 500
connections.0.directions.0.messages.write.sent 1
connections.0.directions.0.messages.write.answered 0
connections.0.directions.0.messages.write.bytes 100
connections.0.directions.0.outstanding 1
connections.0.directions.0.silences.count 4
connections.0.directions.0.repeats.probe 2
connections.0.directions.0.repeats.timeout 2
connections.0.directions.0.timeouts 2
connections.0.directions.0.lost_messages 1
connections.0.directions.0.turn "responder"
connections.0.directions.0.lost_before 0
connections.0.directions.0.lost_after 0
connections.0.directions.0.repeats.duplicate 0
connections.0.directions.0.repeats.sequence_nak 0
connections.0.directions.0.silences.longest.0.duration_ns 20038000
connections.0.directions.0.silences.longest.3.duration_ns 67257000
connections.0.directions.0.silences.longest.3.turn "responder"
