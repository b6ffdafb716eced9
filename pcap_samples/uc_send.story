# SPDX-License-Identifier: BSD-2-Clause
# UC: nobody answers, so nobody's peer is known.
exit 0
violation_count 0
connections.0.learnt_from "peer unknown"
connections.0.service "UC"
connections.0.directions.0.lost_messages 0
