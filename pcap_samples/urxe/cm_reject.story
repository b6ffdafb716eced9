# SPDX-License-Identifier: BSD-2-Clause
# A REQ to a port nobody listens on.
exit 0
violation_count 0
cm.0.reject_reason 8
cm.0.at_ns.req 0
cm.0.repeated 0
