# SPDX-License-Identifier: BSD-2-Clause
# 60 SENDs with an ACK each.
exit 0
violation_count 0
capture.bad_icrc 0
connections.0.directions.0.messages.send.answered 60
connections.0.directions.0.acks 60
connections.0.directions.0.bytes 30000
connections.0.directions.0.lost_before 0
