# SPDX-License-Identifier: BSD-2-Clause
# Frames 3, 4, 52 and 53 were overtaken; frames 7 to 10 and 56 to 59 follow NAKs; 43 and 70 repeat atomics that
# were answered.
exit 0
violation_count 0
capture.bad_icrc 0
connections.0.directions.0.out_of_order 4
connections.0.directions.0.repeats.sequence_nak 8
connections.0.directions.0.repeats.timeout 2
connections.0.directions.0.timeouts 2
connections.0.directions.0.answers_lost_after 2
connections.0.directions.0.lost_before 0
connections.0.directions.0.lost_after 0
connections.0.directions.0.naks {"0": 4}
connections.0.directions.0.lost_messages 0
connections.0.directions.0.outstanding 0
