# SPDX-License-Identifier: BSD-2-Clause
# 16 REQs to a host without anybody, then a REJ.
exit 0
violation_count 0
connections []
cm.0.repeated 15
cm.0.reject_reason 4
cm.0.at_ns.rep null
