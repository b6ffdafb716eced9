// SPDX-License-Identifier: BSD-2-Clause
// One connection in detail.

const NAK_NAMES = ["PSN sequence error", "invalid request", "remote access error", "remote operational error",
                   "invalid RD request"];
const REPEATS = {
  sequence_nak: "packets sent again after a NAK for their PSN",
  rnr_nak: "packets sent again after an RNR NAK",
  implied_nak: "packets sent again because a later request was answered first",
  timeout: "packets sent again after a time-out",
  duplicate: "packets delivered twice",
  probe: "packets sent again early, after a silence (probes)",
  unknown: "packets sent again, perhaps after an answer that the capture cut",
};
const COUNTS = {
  lost_before: "packets lost before the capture point",
  corrupted: "packets corrupted before the capture point",
  corrupted_responses: "responses corrupted before the capture point",
  lost_after: "packets lost or overtaken behind the capture point",
  timeouts: "time-outs of the requester",
  answers_lost_after: "of them although an answer had been seen",
  missed_by_capture: "packets missed by the capture: they were acknowledged",
  never_seen: "PSNs never seen",
  out_of_order: "packets out of order",
  missing_responses: "READ responses missing",
  repeated_responses: "responses to what was answered before",
  early_responses: "responses to packets not seen yet",
  stray_responses: "responses far from any request",
  source_port_changes: "changes of the UDP source port",
  lost_messages: "messages LOST: sent again in vain",
};
const RESPONSES = {acks: "ACKs", read_responses: "READ responses", atomic_acks: "ATOMIC ACKs", rnr_naks: "RNR NAKs",
                   cut_answers: "ACKs or NAKs cut by the capture before the syndrome"};
/** Counts that say that something is wrong with a connection, not only with its network. */
const ALERTS = new Set(["lost_messages"]);

function nakName(code) {
  return NAK_NAMES[code] || "reserved code";
}

function sum(values) {
  return Object.values(values).reduce((total, value) => total + value, 0);
}

/** NAKs of a direction that end it. */
function errorNaks(direction) {
  return sum(direction.naks) - (direction.naks[0] || 0);
}

/** What happened in a direction, as rows: {name, count, alert}. */
function countRows(direction) {
  const rows = [{name: "request packets", count: direction.packets}, {name: "bytes of payload", count: direction.bytes}];
  if (direction.path_mtu !== 0) rows.push({name: "path MTU", count: direction.path_mtu});
  for (const [key, name] of Object.entries(RESPONSES)) rows.push({name, count: direction[key]});
  for (const [code, count] of Object.entries(direction.naks)) {
    rows.push({name: "NAKs, " + nakName(code), count, alert: code !== "0"});
  }
  for (const [key, name] of Object.entries(REPEATS)) rows.push({name, count: direction.repeats[key]});
  for (const [key, name] of Object.entries(COUNTS)) rows.push({name, count: direction[key], alert: ALERTS.has(key)});
  rows.push({name: "silences of 1 ms or more while somebody had to send", count: direction.silences.count});
  return rows.filter((row) => row.count !== 0);
}

function messageTable(direction) {
  const rows = Object.entries(direction.messages).map(([kind, counts]) => ({kind, ...counts}));
  if (rows.length === 0) return null;
  const latency = (name) => (row) => (row.latency_ns === null ? null : row.latency_ns[name]);
  const duration = (name) => (row) => (row.latency_ns === null ? "" : formatDuration(row.latency_ns[name]));
  return makeTable([
    {title: "Message", value: (row) => row.kind},
    {title: "Sent", value: (row) => row.sent, number: true},
    {title: "Answered", value: (row) => row.answered, number: true},
    {title: "Failed", value: (row) => row.failed, number: true, alert: (row) => row.failed !== 0},
    {title: "Bytes", value: (row) => row.bytes, number: true},
    {title: "Least", value: latency("min"), text: duration("min"), number: true},
    {title: "Median", value: latency("median"), text: duration("median"), number: true},
    {title: "99 %", value: latency("p99"), text: duration("p99"), number: true},
    {title: "Most", value: latency("max"), text: duration("max"), number: true},
  ], rows, {id: "messages"}).element;
}

function countTable(direction) {
  return makeTable([
    {title: "What", value: (row) => row.name, wrap: true},
    {title: "Count", value: (row) => row.count, number: true, alert: (row) => row.alert},
  ], countRows(direction), {id: "counts"}).element;
}

function errorTable(direction) {
  if (direction.error_naks.length === 0) return null;
  return make("div", {}, make("h3", {}, "NAKs that ended it"), makeTable([
    {title: "Frame", value: (row) => row.frame, number: true},
    {title: "PSN", value: (row) => row.psn, text: (row) => String(row.psn), number: true},
    {title: "NAK", value: (row) => nakName(row.code)},
  ], direction.error_naks, {id: "error-naks"}).element);
}

function silenceTable(direction) {
  const {count, longest} = direction.silences;
  if (count === 0) return null;
  const about = count > longest.length ? ": the longest " + longest.length + " of " + formatCount(count) : "";
  return make("div", {}, make("h3", {}, "Silences" + about), makeTable([
    {title: "From", value: (row) => row.at_ns, text: (row) => formatDuration(row.at_ns), number: true},
    {title: "Duration", value: (row) => row.duration_ns, text: (row) => formatDuration(row.duration_ns), number: true},
    {title: "Had to send", value: (row) => row.turn},
  ], longest, {id: "silences"}).element);
}

/** The sentences about how a direction ended and what it waited for. */
function endNotes(connection, direction) {
  const notes = [];
  if (direction.rnr_wait_ns !== null) {
    const wait = direction.rnr_wait_ns;
    notes.push("After an RNR NAK the requester waited " + formatDuration(wait.min) + " to " + formatDuration(wait.max) +
               ", median " + formatDuration(wait.median) + ", 99 % " + formatDuration(wait.p99) + ".");
  }
  if (direction.acks !== 0) {
    notes.push("An ACK for each " + (direction.packets / direction.acks).toFixed(1) + " request packets.");
  }
  if (direction.turn !== "nobody" && connection.service !== "UC") {
    notes.push(formatCount(direction.outstanding) + " messages unanswered at the end; the " + direction.turn +
               " has to send next.");
  }
  return notes;
}

/** When the connection managers made and ended a connection: {ns, text}, in order. */
function managerSteps(connection, exchanges) {
  const [a, b] = connection.ends;
  const is = (end, address, qpn) => end.address === address && end.qpn === qpn;
  const steps = [];
  for (const exchange of exchanges) {
    const active = [exchange.active, exchange.active_qpn];
    const passive = [exchange.passive, exchange.passive_qpn];
    if (exchange.datagrams) continue;
    if (!(is(a, ...active) && is(b, ...passive)) && !(is(b, ...active) && is(a, ...passive))) continue;
    for (const [name, ns] of Object.entries(exchange.at_ns)) {
      if (ns !== null) steps.push({ns, text: name.toUpperCase()});
    }
  }
  return steps.sort((one, other) => one.ns - other.ns);
}

/** Plots and tables of one direction. */
function showDirection(data, connection, direction, axis) {
  const psn = new PsnPlot(axis, direction.trace);
  const plots = [psn, new MessageTimeline(axis, direction, managerSteps(connection, data.cm))];
  if (direction.rate.bytes.length !== 0) plots.push(new ThroughputPlot(axis, direction.rate));
  const histograms = Object.entries(direction.trace.latencies).map(
    ([kind, buckets]) => new LatencyHistogram(kind, buckets, direction.messages[kind].latency_ns));
  const ns = direction.duration_ns;
  const rate = ns > 0 ? ", " + formatRate(direction.bytes, ns) : "";
  const notes = [...endNotes(connection, direction), ...omissions(direction.trace)];
  return make("div", {},
    make("p", {}, formatCount(direction.packets) + " request packets, " + formatBytes(direction.bytes) + " in " +
                  formatDuration(ns) + rate + ". The first is frame " + direction.first_frame + "."),
    make("ul", {class: "notes", id: "direction-notes"}, ...notes.map((note) => make("li", {}, note))),
    zoomBar(axis),
    make("div", {class: "legend"}, make("span", {class: "faint"}, "Requests and responses by PSN; click an event to hide it:")),
    eventLegend(direction.trace, psn.hidden, () => psn.chart.redraw()),
    ...plots.map((plot) => plot.chart.element),
    make("p", {class: "faint"}, "The wheel zooms; drag to choose a time, with the shift key to move; a double click shows all."),
    messageTable(direction),
    make("div", {class: "columns"}, ...histograms.map((histogram) => histogram.element)),
    make("div", {class: "columns"}, make("div", {}, make("h3", {}, "Counts"), countTable(direction)),
      errorTable(direction), silenceTable(direction)));
}

/** A connection's part of the page. */
function showConnection(data, connection) {
  const from = Math.min(...connection.directions.map((direction) => direction.packets === 0 ? Infinity : direction.start_ns));
  const to = Math.max(...connection.directions.map((direction) => direction.packets === 0 ? -Infinity
    : direction.start_ns + direction.duration_ns));
  const steps = managerSteps(connection, data.cm).map((step) => step.ns);
  const axis = new TimeAxis(Math.min(from, ...steps), Math.max(to, ...steps));
  const contents = make("div");
  const [a, b] = connection.ends;
  const named = connection.directions.map((direction, index) => ({
    direction, name: index === 0 ? formatEnd(a) + " \u2192 " + formatEnd(b) : formatEnd(b) + " \u2192 " + formatEnd(a),
  })).filter(({direction}) => direction.packets !== 0);
  const buttons = named.map(({direction, name}, index) => make("button", {type: "button", "aria-pressed": "false",
    click: () => choose(index)}, name));
  function choose(index) {
    axis.listeners.length = 0;
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === index)));
    contents.replaceChildren(showDirection(data, connection, named[index].direction, axis));
  }
  const learnt = {cm: "known from the exchange of the connection managers", psn: "found by the PSNs of responses",
                  "peer unknown": "the queue pair that sends these packets is not known"}[connection.learnt_from];
  const element = section("connection", "Connection " + connection.number + ": " + connection.service,
    make("p", {class: "faint"}, formatEnd(a) + " \u2194 " + formatEnd(b) + "; " + learnt +
      (connection.unmatched_responses === 0 ? "" : "; " + formatCount(connection.unmatched_responses) +
                                                   " responses whose requests were not found")),
    make("div", {class: "bar tabs"}, ...buttons), contents);
  if (named.length === 0) contents.append(make("p", {}, "No requests were seen."));
  else choose(named.length === 2 && named[1].direction.packets > named[0].direction.packets ? 1 : 0);
  return element;
}
