// SPDX-License-Identifier: BSD-2-Clause
// How long messages of one kind took, over a logarithmic axis.

const BINS_PER_OCTAVE = 4;
const BUCKET = 3;  // numbers for each bucket, as in trace_json.cc

/** Counts in bins whose widths grow alike: {first, counts}; bin b covers 2^(b/4) to 2^((b+1)/4) ns. */
function binsOf(buckets) {
  const bins = [];
  for (let i = 0; i < buckets.length; i += BUCKET) {
    const middle = Math.max((buckets[i] + buckets[i + 1]) / 2, 1);
    bins.push([Math.floor(Math.log2(middle) * BINS_PER_OCTAVE), buckets[i + 2]]);
  }
  const first = Math.min(...bins.map(([bin]) => bin)) - 1;
  const last = Math.max(...bins.map(([bin]) => bin)) + 1;
  const counts = new Array(last - first + 1).fill(0);
  for (const [bin, count] of bins) counts[bin - first] += count;
  return {first, counts};
}

class LatencyHistogram {
  constructor(kind, buckets, summary) {
    this.kind = kind;
    this.bins = binsOf(buckets);
    this.summary = summary;
    this.canvas = make("canvas", {role: "img", "aria-label": "Latencies of " + kind, "data-kind": kind});
    const about = "median (line) " + formatDuration(summary.median) + ", 99 % (dashes) " + formatDuration(summary.p99) + ", most " +
                  formatDuration(summary.max);
    this.element = make("div", {}, make("h3", {}, kind + ": " + formatCount(summary.count) + " answered"),
      make("p", {class: "faint"}, about), make("div", {class: "chart"}, this.canvas));
    new ResizeObserver(() => this.redraw()).observe(this.element);
  }

  redraw() {
    const width = this.canvas.clientWidth;
    const height = 150;
    if (!this.canvas.isConnected || width === 0) return;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.style.height = height + "px";
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.font = FONT;
    this.draw(context, {left: 56, right: width - 10, top: 8, bottom: height - 22});
  }

  draw(context, box) {
    const {first, counts} = this.bins;
    const most = Math.max(...counts);
    const step = (box.right - box.left) / counts.length;
    const x = (ns) => box.left + (Math.log2(Math.max(ns, 1)) * BINS_PER_OCTAVE - first) * step;
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const value of roundSteps(0, most, 3).values.filter(Number.isInteger)) {
      const y = box.bottom - (value / most) * (box.bottom - box.top);
      context.fillStyle = colour("grid");
      context.fillRect(box.left, y, box.right - box.left, 1);
      context.fillStyle = colour("faint");
      context.fillText(formatCount(value), box.left - 5, y);
    }
    context.fillStyle = colour(this.kind);
    counts.forEach((count, i) => {
      const height = (count / most) * (box.bottom - box.top);
      if (count === 0) return;
      context.fillRect(box.left + i * step + 0.5, box.bottom - Math.max(height, 1), Math.max(step - 1, 1), Math.max(height, 1));
    });
    this.drawTimes(context, box, x);
    for (const name of ["median", "p99"]) {
      context.strokeStyle = colour("bad");
      context.lineWidth = 1.5;
      context.setLineDash(name === "p99" ? [3, 3] : []);
      context.beginPath();
      context.moveTo(x(this.summary[name]), box.top);
      context.lineTo(x(this.summary[name]), box.bottom);
      context.stroke();
    }
    context.setLineDash([]);
  }

  /** Powers of ten, with 2 and 5 between them where there is room. */
  drawTimes(context, box, x) {
    context.fillStyle = colour("faint");
    context.textAlign = "center";
    context.textBaseline = "bottom";
    let free = box.left;
    for (let power = 1; power < 1e19; power *= 10) {
      for (const factor of [1, 2, 5]) {
        const at = x(power * factor);
        if (at < box.left || at > box.right || at - 24 < free) continue;
        context.fillText(formatDuration(power * factor, power * factor), Math.min(at, box.right - 20), box.bottom + 19);
        context.fillRect(at, box.bottom, 1, 4);
        free = at + 28;
      }
    }
  }
}
