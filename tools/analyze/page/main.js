// SPDX-License-Identifier: BSD-2-Clause
// The page: what concerns the whole capture, the list of connections, and the one that is chosen.

const CAPTURE_NOTES = {
  fragments: "IP fragments were not looked into",
  cut: "packets are too short to be looked into",
  split: "datagrams were captured above an offload: each is several packets, which were looked at one by one",
  merged: "datagrams are longer than any packet: capture with segmentation offload off",
  unchecked_icrc: "ICRCs could not be checked",
  unknown_opcodes: "packets have opcodes that are not known",
  congestion_notifications: "congestion notifications",
  urxe_gap: "packets of urxe's own about losses (GAP)",
  urxe_drain: "packets of urxe's own about receive buffers (DRAIN)",
  urxe_probe: "packets of urxe's own about port 4791 (PROBE)",
  qp1: "packets to QP1",
};

function total(connection, count) {
  return connection.directions.reduce((all, direction) => all + count(direction), 0);
}

function errors(connection) {
  return total(connection, (direction) => errorNaks(direction) + direction.lost_messages);
}

function losses(connection) {
  return total(connection, (direction) => direction.lost_before + direction.lost_after);
}

function sentAgain(connection) {
  return total(connection, (direction) => sum(direction.repeats));
}

function card(id, value, label, bad) {
  return make("div", {class: bad ? "card bad" : "card", id}, make("b", {}, value), make("span", {}, label));
}

function verdict(data) {
  if (data.unread !== "") return ["bad", "The file could not be read to its end: " + data.unread];
  if (data.found_something) return ["bad", "Something is wrong with this traffic."];
  if (data.capture.roce === 0) return ["", "There are no RoCEv2 packets."];
  return ["good", "The traffic is fine."];
}

function showHeader(data) {
  const {capture} = data;
  const start = formatStart(capture.start_ns);
  const [quality, words] = verdict(data);
  document.title = data.file + " \u2013 urxe analyze";
  document.getElementById("header").append(
    make("h1", {}, data.file),
    make("p", {class: "faint"}, "urxe analyze" + (capture.frames === 0 || start === "" ? "" : "; the capture begins at " + start)),
    make("p", {class: "verdict " + quality, id: "verdict"}, words),
    make("div", {class: "cards"},
      card("card-frames", formatCount(capture.frames), "frames"),
      card("card-duration", formatDuration(capture.duration_ns), "duration"),
      card("card-roce", formatCount(capture.roce), "RoCEv2 packets"),
      card("card-connections", formatCount(data.connections.length), "connections"),
      card("card-losses", formatCount(data.connections.reduce((all, one) => all + losses(one), 0)), "packets lost"),
      card("card-icrc", formatCount(capture.bad_icrc), "wrong ICRCs", capture.bad_icrc !== 0),
      card("card-violations", formatCount(data.violation_count), "violations", data.violation_count !== 0),
      card("card-errors", formatCount(data.connections.reduce((all, one) => all + errors(one), 0)), "failures",
        data.connections.some((one) => errors(one) !== 0))));
}

function captureNotes(capture) {
  const notes = Object.entries(CAPTURE_NOTES).filter(([key]) => capture[key] !== 0)
    .map(([key, text]) => formatCount(capture[key]) + " " + text);
  if (capture.datagrams !== 0) {
    notes.push(formatCount(capture.datagrams) + " datagrams, " + formatCount(capture.multicast) + " of them multicast, " +
               formatBytes(capture.datagram_bytes));
  }
  if (capture.bad_icrc !== 0) notes.push("Wrong ICRCs: frames " + capture.bad_icrc_frames.join(", "));
  return notes.length === 0 ? null
    : make("ul", {class: "notes", id: "capture-notes"}, ...notes.map((note) => make("li", {}, note)));
}

function connectionTable(connections, onChoose) {
  const slowest = (connection) => {
    const all = connection.directions.flatMap((direction) => Object.values(direction.messages))
      .filter((kind) => kind.latency_ns !== null).map((kind) => kind.latency_ns.p99);
    return all.length === 0 ? null : Math.max(...all);
  };
  const messages = (direction) => Object.values(direction.messages).reduce((all, kind) => all + kind.sent, 0);
  return makeTable([
    {title: "No.", value: (row) => row.number, number: true},
    {title: "Service", value: (row) => row.service},
    {title: "One end", value: (row) => formatEnd(row.ends[0]), end: true},
    {title: "Other end", value: (row) => formatEnd(row.ends[1]), end: true},
    {title: "Packets", value: (row) => total(row, (one) => one.packets), number: true},
    {title: "Bytes", value: (row) => total(row, (one) => one.bytes), text: (row) => formatBytes(total(row, (one) => one.bytes)),
     number: true},
    {title: "Messages", value: (row) => total(row, messages), number: true},
    {title: "Lost", value: losses, number: true},
    {title: "Sent again", value: sentAgain, number: true},
    {title: "Out of order", value: (row) => total(row, (one) => one.out_of_order), number: true},
    {title: "NAKs", value: (row) => total(row, (one) => sum(one.naks)), number: true},
    {title: "RNR NAKs", value: (row) => total(row, (one) => one.rnr_naks), number: true},
    {title: "Failures", value: errors, number: true, alert: (row) => errors(row) !== 0},
    {title: "99 % latency", value: slowest, text: (row) => (slowest(row) === null ? "" : formatDuration(slowest(row))), number: true},
  ], connections, {id: "connections", onChoose, tall: true});
}

function managerTable(exchanges) {
  if (exchanges.length === 0) return null;
  const since = (name) => ({
    title: name.toUpperCase(), number: true,
    value: (row) => row.at_ns[name],
    text: (row) => (row.at_ns[name] === null ? "" : "+" + formatDuration(row.at_ns[name] - (row.at_ns.req || 0))),
  });
  return makeTable([
    {title: "Frame", value: (row) => row.frame, number: true},
    {title: "Active", value: (row) => row.active},
    {title: "Passive", value: (row) => row.passive},
    {title: "Service id", value: (row) => row.service_id},
    {title: "Asked", value: (row) => row.at_ns.req, text: (row) => (row.at_ns.req === null ? "" : formatDuration(row.at_ns.req)),
     number: true},
    since("rep"), since("rtu"), since("rej"), since("dreq"), since("drep"),
    {title: "Rejected because", value: (row) => row.reject_text || "", alert: (row) => row.reject_text !== null},
    {title: "Repeated", value: (row) => row.repeated, number: true},
    {title: "Asked if there", value: (row) => row.questions, number: true},
  ], exchanges, {id: "managers", tall: true}).element;
}

function violationTable(data) {
  if (data.violation_count === 0) return null;
  const shown = data.violations.length;
  const about = data.violation_count > shown ? "The first " + formatCount(shown) + " of " + formatCount(data.violation_count) + "." : "";
  return make("div", {}, make("p", {class: "faint"}, about), makeTable([
    {title: "Frame", value: (row) => row.frame, number: true},
    {title: "Rule", value: (row) => row.rule},
    {title: "From", value: (row) => row.source},
    {title: "To", value: (row) => row.destination + " qp " + formatQpn(row.dest_qp)},
    {title: "Found", value: (row) => row.detail, wrap: true},
    {title: "Section", value: (row) => row.section},
    {title: "The rule says", value: (row) => row.text, wrap: true},
  ], data.violations, {id: "violations", tall: true}).element);
}

function lanesOf(connections) {
  return connections.flatMap((connection) => connection.directions.map((direction, index) => {
    const [from, to] = index === 0 ? connection.ends : [...connection.ends].reverse();
    return {connection, direction, short: connection.number + (index === 0 ? " \u2192" : " \u2190"),
            name: formatEnd(from) + " \u2192 " + formatEnd(to)};
  })).filter(({direction}) => direction.packets !== 0);
}

function showPage(data) {
  data.connections.forEach((connection, index) => { connection.number = index + 1; });
  const detail = make("div", {id: "detail"});
  let chosen = null;
  const list = connectionTable(data.connections, choose);
  function choose(connection) {
    list.choose(connection);
    detail.replaceChildren(showConnection(data, connection));
    detail.dataset.connection = connection.number;
    chosen = connection;
  }
  showHeader(data);
  const lanes = lanesOf(data.connections);
  const overview = new TimeAxis(0, data.capture.duration_ns);
  const overall = lanes.length === 0 ? null : new QueuePairLanes(overview, lanes, choose);
  const search = make("input", {type: "search", placeholder: "Address, queue pair, service", "aria-label": "Show connections with",
    input: (event) => list.filter(event.target.value)});
  const rows = data.connections;
  document.getElementById("main").append(...[
    captureNotes(data.capture),
    rows.length === 0 ? section("connections-part", "Connections", make("p", {}, "None was found."))
      : section("connections-part", "Connections", rows.length < 8 ? null : make("div", {class: "bar"}, search), list.element,
        make("p", {class: "faint"}, "Click a connection to see it below; click a heading to sort.")),
    overall === null ? null : section("overview", "Queue pairs over time", zoomBar(overview), overall.chart.element,
      make("p", {class: "faint"}, "Arrows tell the direction; coloured background: silence although somebody had to send." +
        (overall.left_out === 0 ? "" : " Those with the most packets; " + formatCount(overall.left_out) + " are left out."))),
    detail,
    section("managers-part", "Connection managers", managerTable(data.cm)),
    section("violations-part", "Violations of the specification", violationTable(data)),
  ].filter((part) => part !== null));
  document.getElementById("footer").append("Made by urxe analyze " + data.version +
    ". Times count from the first frame of the capture.");
  onColours(() => {
    if (overall !== null) overall.chart.redraw();
    if (chosen !== null) choose(chosen);
  });
  // What goes worst is what one wants to see.
  const worst = [...rows].sort((a, b) => errors(b) - errors(a) || losses(b) - losses(a) || sentAgain(b) - sentAgain(a))[0];
  if (worst) choose(worst);
  document.body.dataset.ready = "yes";
}

showPage(JSON.parse(document.getElementById("data").textContent));
