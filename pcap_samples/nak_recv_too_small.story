# SPDX-License-Identifier: BSD-2-Clause
# One SEND fails.
exit 1
violation_count 0
capture.bad_icrc 0
connections.0.directions.0.naks {"3": 1}
connections.0.directions.0.messages.send.failed 1
connections.0.directions.0.error_naks.0.frame 3
