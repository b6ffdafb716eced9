# SPDX-License-Identifier: BSD-2-Clause
# 30 % of the requester's packets come twice: eleven frames repeat another one's IPv4 identification.
exit 0
violation_count 0
capture.bad_icrc 0
connections.0.directions.0.repeats.duplicate 11
connections.0.directions.0.repeats.timeout 0
connections.0.directions.0.repeats.sequence_nak 0
connections.0.directions.0.lost_before 0
connections.0.directions.0.lost_after 0
connections.0.directions.0.out_of_order 0
connections.0.directions.0.lost_messages 0
