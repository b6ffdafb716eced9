// SPDX-License-Identifier: BSD-2-Clause
// Numbers as text.

/** A duration in nanoseconds. On an axis `step` is what neighbours differ by, and `most` the largest value. */
function formatDuration(ns, step, most) {
  const size = Math.max(Math.abs(ns), most || 0);
  const [unit, factor] = size < 1e3 ? ["ns", 1] : size < 1e6 ? ["µs", 1e3] : size < 1e9 ? ["ms", 1e6] : ["s", 1e9];
  const value = ns / factor;
  let digits = factor === 1 ? 0 : factor === 1e9 ? 3 : Math.abs(value) < 10 ? 2 : 1;
  if (step) digits = Math.min(9, Math.max(0, Math.ceil(-Math.log10(step / factor) - 1e-9)));
  return value.toFixed(digits) + " " + unit;
}

function formatCount(value) {
  return String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** With a unit of 1000, as network rates have it. */
function formatScaled(value, unit) {
  const [prefix, factor] = value < 1e3 ? ["", 1] : value < 1e6 ? ["k", 1e3] : value < 1e9 ? ["M", 1e6] : ["G", 1e9];
  const scaled = value / factor;
  return (factor === 1 ? String(Math.round(scaled)) : scaled.toFixed(scaled < 10 ? 2 : 1)) + " " + prefix + unit;
}

function formatBytes(bytes) {
  return formatScaled(bytes, "B");
}

function formatRate(bytes, ns) {
  return ns > 0 ? formatScaled(bytes / (ns / 1e9), "B/s") : "";
}

/** The PSN on the wire, of one that counts on from `origin` without wrapping. */
function wirePsn(psn, origin) {
  const wrap = 0x1000000;
  return (((psn + origin) % wrap) + wrap) % wrap;
}

function formatQpn(qpn) {
  return qpn === null ? "unknown" : "0x" + qpn.toString(16).padStart(6, "0");
}

function formatEnd(end) {
  return end.address + " qp " + formatQpn(end.qpn);
}

/** When a capture began: nanoseconds since 1970 as a string. */
function formatStart(startNs) {
  const milliseconds = Number(BigInt(startNs) / 1000000n);
  return Number.isFinite(milliseconds) && Math.abs(milliseconds) < 8.6e15 ? new Date(milliseconds).toISOString() : "";
}
