// SPDX-License-Identifier: BSD-2-Clause
// The timeline of a queue pair: its messages from the first packet to the answer, and when nobody sent although somebody
// had to.

const KINDS = ["send", "write", "read", "atomic", "flush"];  // by number, as in message_queue.h
const SPAN = 7;  // numbers for each message, as in trace_json.cc
const LANE = 26;

function messageAt(spans, i) {
  return {kind: KINDS[spans[i]], from: spans[i + 1], duration: spans[i + 2], psn: spans[i + 3], bytes: spans[i + 4],
          frame: spans[i + 5], failed: spans[i + 6] === 1};
}

class MessageTimeline {
  /** `steps`: {ns, text} of the connection manager. */
  constructor(axis, direction, steps) {
    this.trace = direction.trace;
    this.silences = direction.silences.longest;
    this.steps = steps;
    const present = new Set();
    for (let i = 0; i < this.trace.messages.spans.length; i += SPAN) present.add(KINDS[this.trace.messages.spans[i]]);
    this.kinds = KINDS.filter((kind) => present.has(kind));
    this.chart = new Chart(axis, {
      id: "message-chart",
      name: "Messages, from the first packet to the answer",
      height: () => 46 + LANE * Math.max(this.kinds.length, 1) + (steps.length === 0 ? 0 : LANE),
      draw: (chart, context) => this.draw(chart, context),
      hint: (chart, x, y) => this.hint(chart, x, y),
    });
  }

  laneTop(chart, index) {
    return chart.top + 3 + LANE * index;
  }

  draw(chart, context) {
    const names = this.steps.length === 0 ? this.kinds : [...this.kinds, "CM"];
    context.fillStyle = colour("faint");
    context.textAlign = "right";
    context.textBaseline = "middle";
    names.forEach((name, index) => context.fillText(name, chart.left - 6, this.laneTop(chart, index) + LANE / 2));
    chart.clip(context);
    this.drawSilences(chart, context);
    this.drawMessages(chart, context);
    this.drawSteps(chart, context, this.laneTop(chart, this.kinds.length));
  }

  drawSilences(chart, context) {
    context.fillStyle = colour("silence");
    for (const silence of this.silences) {
      const x = chart.x(silence.at_ns);
      context.fillRect(x, chart.top + 1, Math.max(chart.x(silence.at_ns + silence.duration_ns) - x, 1),
                       chart.bottom - chart.top - 2);
    }
  }

  drawMessages(chart, context) {
    const spans = this.trace.messages.spans;
    for (let i = 0; i < spans.length; i += SPAN) {
      const message = messageAt(spans, i);
      const x = chart.x(message.from);
      const end = message.duration < 0 ? chart.right : chart.x(message.from + message.duration);
      if (end < chart.left || x > chart.right) continue;
      const top = this.laneTop(chart, this.kinds.indexOf(message.kind)) + 4;
      const width = Math.max(end - x, 1.5);
      context.fillStyle = context.strokeStyle = colour(message.failed ? "bad" : message.kind);
      if (message.duration < 0) {
        context.strokeRect(x + 0.5, top + 0.5, width, LANE - 9);
        continue;
      }
      context.globalAlpha = width > 4 ? 0.55 : 0.8;  // they overlap
      context.fillRect(x, top, width, LANE - 8);
      context.globalAlpha = 1;
      context.fillRect(x, top, 1, LANE - 8);
    }
  }

  drawSteps(chart, context, top) {
    context.textAlign = "left";
    context.textBaseline = "middle";
    let free = -Infinity;
    for (const step of this.steps) {
      const x = chart.x(step.ns);
      context.strokeStyle = context.fillStyle = colour("faint");
      context.setLineDash([3, 3]);
      context.beginPath();
      context.moveTo(x, chart.top);
      context.lineTo(x, chart.bottom);
      context.stroke();
      context.setLineDash([]);
      if (x < free) continue;
      context.fillText(step.text, x + 3, top + LANE / 2);
      free = x + context.measureText(step.text).width + 8;
    }
  }

  hint(chart, x, y) {
    const step = this.steps.find((one) => Math.abs(chart.x(one.ns) - x) < 4);
    if (step && y > this.laneTop(chart, this.kinds.length)) return step.text + "\n" + formatDuration(step.ns);
    const kind = this.kinds[Math.floor((y - this.laneTop(chart, 0)) / LANE)];
    const spans = this.trace.messages.spans;
    for (let i = spans.length - SPAN; i >= 0 && kind; i -= SPAN) {
      const message = messageAt(spans, i);
      if (message.kind !== kind) continue;
      const end = message.duration < 0 ? chart.right : chart.x(message.from + message.duration);
      if (x < chart.x(message.from) - 2 || x > Math.max(end, chart.x(message.from)) + 2) continue;
      const fate = message.duration < 0 ? "no answer" : (message.failed ? "failed after " : "answered after ") +
                                                        formatDuration(message.duration);
      return message.kind + ", " + formatBytes(message.bytes) + "\nPSN " + wirePsn(message.psn, this.trace.psn_origin) +
             ", frame " + message.frame + "\n" + fate;
    }
    const time = chart.time(x);
    const silence = this.silences.find((one) => time >= one.at_ns && time <= one.at_ns + one.duration_ns);
    return silence ? "silence of " + formatDuration(silence.duration_ns) + "\nthe " + silence.turn + " had to send next" : null;
  }
}
