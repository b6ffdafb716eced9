# SPDX-License-Identifier: BSD-2-Clause
# Five RNR NAKs, then a receive.
exit 0
violation_count 0
capture.bad_icrc 0
connections.0.directions.0.rnr_naks 5
connections.0.directions.0.repeats.rnr_nak 5
connections.0.directions.0.lost_messages 0
connections.0.directions.0.messages.send.answered 1
connections.0.directions.0.turn "nobody"
