# SPDX-License-Identifier: BSD-2-Clause
# 15 % of the responder's packets are lost before the capture point: no request is.
exit 0
violation_count 0
capture.bad_icrc 0
connections.0.directions.0.lost_before 0
connections.0.directions.0.lost_after 0
connections.0.directions.0.out_of_order 0
connections.0.directions.0.naks {}
connections.0.directions.0.lost_messages 0
connections.0.directions.0.outstanding 0
connections.0.directions.0.messages.read.answered 8
