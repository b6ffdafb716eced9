# SPDX-License-Identifier: BSD-2-Clause
# Three RNR NAKs, two repeats, then it is given up.
exit 1
violation_count 0
capture.bad_icrc 0
connections.0.directions.0.rnr_naks 3
connections.0.directions.0.repeats.rnr_nak 2
connections.0.directions.0.lost_messages 1
connections.0.directions.0.turn "requester"
