// SPDX-License-Identifier: BSD-2-Clause
// The range of time that charts above each other show together.

class TimeAxis {
  constructor(from, to) {
    const room = Math.max((to - from) * 0.01, 500);
    this.full = {from: from - room, to: to + room};
    this.from = this.full.from;
    this.to = this.full.to;
    this.listeners = [];
  }

  /** Calls `listener` after each change. */
  onChange(listener) {
    this.listeners.push(listener);
  }

  /** Shows a range, kept within what there is and not less than 100 ns. */
  set(from, to) {
    const all = this.full.to - this.full.from;
    const length = Math.min(Math.max(to - from, 100), all);
    const middle = (from + to) / 2;
    this.from = Math.min(Math.max(middle - length / 2, this.full.from), this.full.to - length);
    this.to = this.from + length;
    for (const listener of this.listeners) listener();
  }

  /** Makes what is seen `factor` times as long, and leaves the time `at` where it is. */
  zoom(factor, at) {
    this.set(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  /** Moves by a part of what is seen. */
  pan(part) {
    const by = (this.to - this.from) * part;
    const room = by < 0 ? Math.max(by, this.full.from - this.from) : Math.min(by, this.full.to - this.to);
    this.set(this.from + room, this.to + room);
  }

  reset() {
    this.set(this.full.from, this.full.to);
  }

  get zoomed() {
    return this.to - this.from < (this.full.to - this.full.from) * 0.9999;
  }
}

/** Round values between two others: {values, step}. */
function roundSteps(from, to, most) {
  const raw = Math.max((to - from) / Math.max(most, 1), Number.MIN_VALUE);
  const power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = power * ([1, 2, 5, 10].find((factor) => power * factor >= raw * 0.9999) || 10);
  const values = [];
  for (let i = Math.ceil(from / step); i * step <= to && values.length < 100; ++i) values.push(i * step);
  return {values, step};
}
