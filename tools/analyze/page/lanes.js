// SPDX-License-Identifier: BSD-2-Clause
// All queue pairs over time: a lane for each one that sends requests.

const MOST_LANES = 80;
const LANE_HEIGHT = 18;
/** What is marked in a lane: that a packet was sent again tells the plot of the connection. */
const LANE_EVENTS = ["lost_before", "lost_after", "rnr_nak", "error_nak"];

class QueuePairLanes {
  /** `lanes`: {connection, direction, name}; `onChoose(connection)`. */
  constructor(axis, lanes, onChoose) {
    this.lanes = lanes.length <= MOST_LANES ? lanes
      : [...lanes].sort((a, b) => b.direction.packets - a.direction.packets).slice(0, MOST_LANES);
    this.left_out = lanes.length - this.lanes.length;
    this.chart = new Chart(axis, {
      id: "lane-chart",
      name: "Queue pairs that send requests",
      height: () => 50 + LANE_HEIGHT * this.lanes.length,
      draw: (chart, context) => this.draw(chart, context),
      hint: (chart, x, y) => this.hint(chart, x, y),
      click: (chart, x, y) => { if (this.at(chart, y)) onChoose(this.at(chart, y).connection); },
    });
  }

  at(chart, y) {
    return this.lanes[Math.floor((y - chart.top - 3) / LANE_HEIGHT)];
  }

  draw(chart, context) {
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillStyle = colour("faint");
    this.lanes.forEach((lane, index) => {
      context.fillText(lane.short, chart.left - 6, chart.top + 3 + LANE_HEIGHT * (index + 0.5));
    });
    chart.clip(context);
    this.lanes.forEach((lane, index) => this.drawLane(chart, context, lane, chart.top + 3 + LANE_HEIGHT * index));
  }

  drawLane(chart, context, lane, top) {
    const {rate, silences, trace} = lane.direction;
    context.fillStyle = colour("silence");
    for (const silence of silences.longest) {
      const x = chart.x(silence.at_ns);
      context.fillRect(x, top + 2, Math.max(chart.x(silence.at_ns + silence.duration_ns) - x, 1), LANE_HEIGHT - 4);
    }
    this.drawSending(chart, context, trace.requests.points, top);
    const most = Math.max(1, ...rate.bytes);
    context.globalAlpha = 0.9;
    rate.bytes.forEach((bytes, i) => {
      if (bytes === 0) return;
      const x = chart.x(rate.at_ns + i * rate.slot_ns);
      const height = Math.max((LANE_HEIGHT - 4) * (bytes / most), 1);
      const width = Math.max(chart.x(rate.at_ns + (i + 1) * rate.slot_ns) - x, 1);
      context.fillRect(x, top + LANE_HEIGHT - 2 - height, width, height);
    });
    context.globalAlpha = 1;
    context.lineWidth = 1.6;
    for (const name of LANE_EVENTS.filter((one) => trace.events[one])) {
      context.fillStyle = context.strokeStyle = colour(EVENTS[name].colour);
      const marks = trace.events[name].marks;
      for (let i = 0; i < marks.length; i += MARK) {
        drawShape(context, EVENTS[name].shape, chart.x(marks[i]), top + LANE_HEIGHT / 2, 4);
      }
    }
  }

  /** That packets were sent; how many, the throughput before it shows. Points that touch are one rectangle. */
  drawSending(chart, context, points, top) {
    context.fillStyle = colour("request");
    context.globalAlpha = 0.35;
    let from = -Infinity;
    let to = -Infinity;
    const finish = () => { if (to > from) context.fillRect(from, top + 3, to - from, LANE_HEIGHT - 6); };
    for (let i = 0; i < points.length; i += POINT) {
      const x = chart.x(points[i]);
      const end = Math.max(chart.x(points[i] + points[i + 1]), x + 1);
      if (x <= to + 0.5 && x >= from) {
        to = Math.max(to, end);
        continue;
      }
      finish();
      [from, to] = [x, end];
    }
    finish();
    context.globalAlpha = 1;
  }

  hint(chart, x, y) {
    const lane = this.at(chart, y);
    if (!lane) return null;
    const {packets, bytes} = lane.direction;
    return lane.name + "\n" + formatCount(packets) + " request packets, " + formatBytes(bytes);
  }
}
