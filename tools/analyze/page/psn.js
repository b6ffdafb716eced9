// SPDX-License-Identifier: BSD-2-Clause
// PSN over time: requests, responses to them, and what happened to them.

/** How each event is marked and what it is called. */
const EVENTS = {
  lost_before: {text: "lost before the capture point", colour: "bad", shape: "cross"},
  lost_after: {text: "lost behind the capture point", colour: "warning", shape: "cross"},
  repeat_sequence_nak: {text: "sent again after a NAK", colour: "again", shape: "up"},
  repeat_rnr_nak: {text: "sent again after an RNR NAK", colour: "warning", shape: "up"},
  repeat_implied_nak: {text: "sent again after an implied NAK", colour: "order", shape: "up"},
  repeat_timeout: {text: "sent again after a time-out", colour: "bad", shape: "up"},
  repeat_duplicate: {text: "delivered twice", colour: "copy", shape: "up"},
  repeat_probe: {text: "sent again early (a probe)", colour: "copy", shape: "up"},
  repeat_unknown: {text: "sent again after a cut answer", colour: "copy", shape: "up"},
  out_of_order: {text: "out of order", colour: "order", shape: "diamond"},
  sequence_nak: {text: "NAK: PSN sequence error", colour: "again", shape: "down"},
  rnr_nak: {text: "RNR NAK", colour: "warning", shape: "down"},
  error_nak: {text: "NAK: error", colour: "bad", shape: "square"},
  corrupted: {text: "corrupted before the capture point", colour: "bad", shape: "square"},
  missing_response: {text: "READ response missing", colour: "warning", shape: "diamond"},
};
const POINT = 5;  // numbers for each point, as in trace_json.cc
const MARK = 3;

function drawShape(context, shape, x, y, size) {
  context.beginPath();
  if (shape === "cross") {
    context.moveTo(x - size, y - size);
    context.lineTo(x + size, y + size);
    context.moveTo(x + size, y - size);
    context.lineTo(x - size, y + size);
    context.stroke();
    return;
  }
  const corners = {
    up: [[0, -1], [1, 0.8], [-1, 0.8]],
    down: [[0, 1], [1, -0.8], [-1, -0.8]],
    diamond: [[0, -1.1], [1.1, 0], [0, 1.1], [-1.1, 0]],
    square: [[-1, -1], [1, -1], [1, 1], [-1, 1]],
  }[shape];
  for (const [dx, dy] of corners) context.lineTo(x + dx * size, y + dy * size);
  context.closePath();
  context.fill();
}

/** A button for each event that happened: it shows or hides the marks in `hidden`. */
function eventLegend(trace, hidden, redraw) {
  const buttons = Object.entries(EVENTS).filter(([name]) => trace.events[name]).map(([name, event]) => {
    const seen = trace.events[name].seen;
    const symbol = make("canvas", {width: 28, height: 28});
    const context = symbol.getContext("2d");
    context.scale(2, 2);
    context.fillStyle = context.strokeStyle = colour(event.colour);
    context.lineWidth = 2;
    drawShape(context, event.shape, 7, 7, 4.5);
    const toggle = () => {
      if (!hidden.delete(name)) hidden.add(name);
      button.setAttribute("aria-pressed", String(!hidden.has(name)));
      redraw();
    };
    const button = make("button", {type: "button", "aria-pressed": String(!hidden.has(name)), "data-event": name, click: toggle},
      symbol, formatCount(seen) + " " + event.text);
    return button;
  });
  return make("div", {class: "legend"}, ...buttons);
}

/** What is left out of the plots of a direction, in words; empty if nothing is. */
function omissions(trace) {
  const found = [];
  const merged = Math.max(trace.requests.packets_per_point, trace.responses.packets_per_point);
  if (merged > 1) {
    found.push("Points were merged: each stands for up to " + formatCount(merged) + " packets, and covers their times and PSNs.");
  }
  for (const [name, event] of Object.entries(EVENTS)) {
    const marks = trace.events[name];
    if (!marks || marks.every === 1) continue;
    found.push("Of " + formatCount(marks.seen) + " events \u201c" + event.text + "\u201d one in " + formatCount(marks.every) +
               " is marked.");
  }
  if (trace.messages.every > 1) {
    found.push("Of " + formatCount(trace.messages.seen) + " messages one in " + formatCount(trace.messages.every) + " is drawn.");
  }
  return found;
}

/** The PSNs of what is seen of some points: [least, most], or null. */
function visiblePsns(points, axis) {
  let least = Infinity;
  let most = -Infinity;
  for (let i = 0; i < points.length; i += POINT) {
    if (points[i] > axis.to || points[i] + points[i + 1] < axis.from) continue;
    least = Math.min(least, points[i + 2]);
    most = Math.max(most, points[i + 2] + points[i + 3]);
  }
  return least <= most ? [least, most] : null;
}

class PsnPlot {
  constructor(axis, trace) {
    this.trace = trace;
    this.hidden = new Set();
    this.range = [0, 1];
    this.chart = new Chart(axis, {
      id: "psn-chart",
      name: "PSN over time",
      height: () => 340,
      draw: (chart, context) => this.draw(chart, context),
      hint: (chart, x, y) => this.hint(chart, x, y),
    });
  }

  fit(axis) {
    const ranges = [this.trace.requests, this.trace.responses].map((series) => visiblePsns(series.points, axis));
    const found = ranges.filter((range) => range !== null);
    if (found.length === 0) return;
    const least = Math.min(...found.map((range) => range[0]));
    const most = Math.max(...found.map((range) => range[1]));
    const room = Math.max((most - least) * 0.04, 1);
    this.range = [least - room, most + room];
  }

  y(chart, psn) {
    const [least, most] = this.range;
    return chart.bottom - ((psn - least) / (most - least)) * (chart.bottom - chart.top);
  }

  draw(chart, context) {
    this.fit(chart.axis);
    const {values} = roundSteps(this.range[0], this.range[1], 7);
    const whole = values.filter((value) => Number.isInteger(value));
    chart.drawLevels(context, whole, (psn) => this.y(chart, psn), (psn) => String(wirePsn(psn, this.trace.psn_origin)));
    chart.clip(context);
    this.drawPoints(chart, context, this.trace.responses.points, "response");
    this.drawPoints(chart, context, this.trace.requests.points, "request");
    for (const [name, event] of Object.entries(EVENTS)) {
      if (this.trace.events[name] && !this.hidden.has(name)) this.drawMarks(chart, context, this.trace.events[name].marks, event);
    }
  }

  drawPoints(chart, context, points, name) {
    context.fillStyle = colour(name);
    for (let i = 0; i < points.length; i += POINT) {
      const x = chart.x(points[i]);
      const right = chart.x(points[i] + points[i + 1]);
      if (right < chart.left || x > chart.right) continue;
      const top = this.y(chart, points[i + 2] + points[i + 3]);
      const bottom = this.y(chart, points[i + 2]);
      context.fillRect(x - 1.5, top - 1.5, Math.max(right - x, 0) + 3, bottom - top + 3);
    }
  }

  drawMarks(chart, context, marks, event) {
    context.fillStyle = context.strokeStyle = colour(event.colour);
    context.lineWidth = 1.8;
    for (let i = 0; i < marks.length; i += MARK) {
      const x = chart.x(marks[i]);
      if (x < chart.left - 5 || x > chart.right + 5) continue;
      drawShape(context, event.shape, x, this.y(chart, marks[i + 1]), 4.5);
    }
  }

  hint(chart, x, y) {
    let best = null;
    let distance = 12;
    const offer = (ns, psn, text) => {
      const far = Math.hypot(chart.x(ns) - x, this.y(chart, psn) - y);
      if (far >= distance) return;
      distance = far;
      best = text;
    };
    const psnText = (psn) => "PSN " + wirePsn(psn, this.trace.psn_origin);
    for (const [name, series] of [["request", this.trace.requests], ["response", this.trace.responses]]) {
      const points = series.points;
      for (let i = 0; i < points.length; i += POINT) {
        const count = points[i + 4] === 1 ? name : formatCount(points[i + 4]) + " " + name + "s";
        const last = points[i + 3] === 0 ? "" : " to " + wirePsn(points[i + 2] + points[i + 3], this.trace.psn_origin);
        offer(points[i], points[i + 2], count + "\n" + psnText(points[i + 2]) + last + "\n" + formatDuration(points[i]));
      }
    }
    distance += 3;  // a mark lies on a point
    for (const [name, event] of Object.entries(EVENTS)) {
      const marks = this.hidden.has(name) || !this.trace.events[name] ? [] : this.trace.events[name].marks;
      for (let i = 0; i < marks.length; i += MARK) {
        offer(marks[i], marks[i + 1], event.text + "\n" + psnText(marks[i + 1]) + "\nframe " + marks[i + 2] + ", " +
                                      formatDuration(marks[i]));
      }
    }
    return best;
  }
}
