# SPDX-License-Identifier: BSD-2-Clause
# A WRITE to a queue pair that is gone: two repeats, then it is given up.
exit 1
violation_count 0
capture.bad_icrc 0
connections.0.directions.0.repeats.timeout 2
connections.0.directions.0.timeouts 2
connections.0.directions.0.lost_messages 1
connections.0.directions.0.turn "responder"
connections.0.directions.0.packets 3
