// SPDX-License-Identifier: BSD-2-Clause
// Bytes a second over time.

class ThroughputPlot {
  constructor(axis, rate) {
    this.rate = rate;
    this.chart = new Chart(axis, {
      id: "rate-chart",
      name: "Throughput: payload of requests, each bar is " + formatDuration(rate.slot_ns),
      height: () => 130,
      draw: (chart, context) => this.draw(chart, context),
      hint: (chart, x) => this.hint(chart, x),
    });
  }

  slotAt(ns) {
    return Math.floor((ns - this.rate.at_ns) / this.rate.slot_ns);
  }

  draw(chart, context) {
    const {at_ns: start, slot_ns: slot, bytes} = this.rate;
    const first = Math.max(this.slotAt(chart.axis.from), 0);
    const last = Math.min(this.slotAt(chart.axis.to), bytes.length - 1);
    let most = 0;
    for (let i = first; i <= last; ++i) most = Math.max(most, bytes[i]);
    const top = (most === 0 ? 1 : most) * 1.1 / slot * 1e9;
    const y = (perSecond) => chart.bottom - (perSecond / top) * (chart.bottom - chart.top);
    chart.drawLevels(context, roundSteps(0, top, 3).values, y, (value) => formatScaled(value, "B/s"));
    chart.clip(context);
    context.fillStyle = colour("request");
    for (let i = first; i <= last; ++i) {
      const x = chart.x(start + i * slot);
      const width = Math.max(chart.x(start + (i + 1) * slot) - x - (last - first < 200 ? 1 : 0), 1);
      const height = chart.bottom - y(bytes[i] / slot * 1e9);
      context.fillRect(x, chart.bottom - height, width, height);
    }
  }

  hint(chart, x) {
    const index = this.slotAt(chart.time(x));
    const bytes = this.rate.bytes[index];
    if (bytes === undefined) return null;
    return formatBytes(bytes) + " in " + formatDuration(this.rate.slot_ns) + "\n" + formatRate(bytes, this.rate.slot_ns);
  }
}
