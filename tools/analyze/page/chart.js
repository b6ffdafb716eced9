// SPDX-License-Identifier: BSD-2-Clause
// A canvas with a time axis, which zooms by the wheel and by dragging.

const LEFT = 84;
const RIGHT = 10;
const FONT = "12px system-ui, 'Liberation Sans', 'DejaVu Sans', sans-serif";

class Chart {
  /** `draw(chart, context)` draws between `left`, `right`, `top` and `bottom`; `hint(chart, x, y)` is text or null. */
  constructor(axis, options) {
    this.axis = axis;
    this.options = options;
    this.canvas = make("canvas", {id: options.id, role: "img", "aria-label": options.name});
    this.tip = make("div", {class: "hint", hidden: ""});
    this.element = make("div", {class: "chart"}, this.canvas, this.tip);
    this.top = 22;
    this.drag = null;
    this.waiting = false;
    axis.onChange(() => this.redraw());
    new ResizeObserver(() => this.redraw()).observe(this.element);
    this.listen();
  }

  get width() { return this.canvas.clientWidth; }
  get height() { return this.options.height(); }
  get left() { return LEFT; }
  get right() { return Math.max(this.width - RIGHT, LEFT + 1); }
  get bottom() { return this.height - 22; }

  x(ns) {
    return this.left + ((ns - this.axis.from) / (this.axis.to - this.axis.from)) * (this.right - this.left);
  }

  time(x) {
    return this.axis.from + ((x - this.left) / (this.right - this.left)) * (this.axis.to - this.axis.from);
  }

  /** Draws before the browser shows its next picture, however often it is called until then. */
  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.drawNow(); });
  }

  drawNow() {
    if (!this.canvas.isConnected || this.width === 0) return;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.style.height = this.height + "px";
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.font = FONT;
    this.drawTimes(context);
    context.save();
    this.options.draw(this, context);
    context.restore();
    context.fillStyle = colour("faint");
    context.textAlign = "left";
    context.textBaseline = "top";
    context.fillText(this.options.name, this.left, 5);
    if (this.drag && this.drag.to !== this.drag.from) this.drawDrag(context);
    // For tests, and for whoever looks at the page's elements.
    this.canvas.dataset.from = Math.round(this.axis.from);
    this.canvas.dataset.to = Math.round(this.axis.to);
  }

  drawTimes(context) {
    const {values, step} = roundSteps(this.axis.from, this.axis.to, (this.right - this.left) / 110);
    context.strokeStyle = colour("grid");
    context.fillStyle = colour("faint");
    context.textAlign = "center";
    context.textBaseline = "bottom";
    for (const value of values) {
      const x = this.x(value);
      context.beginPath();
      context.moveTo(x, this.top);
      context.lineTo(x, this.bottom);
      context.stroke();
      const place = Math.min(Math.max(x, this.left + 14), this.right - 22);
      context.fillText(value === 0 ? "0" : formatDuration(value, step, this.axis.to), place, this.height - 4);
    }
    context.strokeStyle = colour("line");
    context.strokeRect(this.left + 0.5, this.top + 0.5, this.right - this.left - 1, this.bottom - this.top - 1);
  }

  /** Lines and labels at values of the vertical axis; `y` places one, `text` names it. */
  drawLevels(context, values, y, text) {
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const value of values) {
      context.strokeStyle = colour("grid");
      context.beginPath();
      context.moveTo(this.left, y(value));
      context.lineTo(this.right, y(value));
      context.stroke();
      context.fillStyle = colour("faint");
      context.fillText(text(value), this.left - 6, y(value));
    }
  }

  /** What is drawn from now on stays between the axes. */
  clip(context) {
    context.beginPath();
    context.rect(this.left, this.top, this.right - this.left, this.bottom - this.top);
    context.clip();
  }

  drawDrag(context) {
    context.fillStyle = colour("link");
    context.globalAlpha = 0.2;
    const from = Math.min(this.drag.from, this.drag.to);
    context.fillRect(from, this.top, Math.abs(this.drag.to - this.drag.from), this.bottom - this.top);
    context.globalAlpha = 1;
  }

  listen() {
    const place = (event) => {
      const box = this.canvas.getBoundingClientRect();
      return {x: event.clientX - box.left, y: event.clientY - box.top};
    };
    const inside = (x) => Math.min(Math.max(x, this.left), this.right);
    this.canvas.addEventListener("wheel", (event) => {
      const factor = Math.pow(1.0015, Math.max(-400, Math.min(400, event.deltaY)));
      if (factor > 1 && !this.axis.zoomed) return;  // let the page scroll
      event.preventDefault();
      this.axis.zoom(factor, this.time(inside(place(event).x)));
    }, {passive: false});
    this.canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      const {x} = place(event);
      this.drag = {from: inside(x), to: inside(x), pan: event.shiftKey, begun: [this.axis.from, this.axis.to]};
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      const {x, y} = place(event);
      if (this.drag === null) return this.showHint(x, y);
      this.drag.to = inside(x);
      if (!this.drag.pan) return this.redraw();
      const [from, to] = this.drag.begun;
      const by = ((this.drag.from - this.drag.to) / (this.right - this.left)) * (to - from);
      this.axis.set(from + by, to + by);
      return undefined;
    });
    this.canvas.addEventListener("pointerup", (event) => {
      if (this.drag === null) return;
      const {from, to, pan} = this.drag;
      this.drag = null;
      if (Math.abs(to - from) >= 4) {
        if (!pan) this.axis.set(this.time(Math.min(from, to)), this.time(Math.max(from, to)));
      } else if (this.options.click) {
        this.options.click(this, place(event).x, place(event).y);
      }
      this.redraw();
    });
    this.canvas.addEventListener("pointercancel", () => { this.drag = null; this.redraw(); });
    this.canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    this.canvas.addEventListener("dblclick", () => this.axis.reset());
  }

  showHint(x, y) {
    const text = this.options.hint ? this.options.hint(this, x, y) : null;
    this.tip.hidden = text === null;
    if (text === null) return;
    this.tip.textContent = text;
    const left = Math.min(x + 12, this.width - this.tip.offsetWidth - 4);
    this.tip.style.left = Math.max(left, 2) + "px";
    this.tip.style.top = (y + 14) + "px";
  }
}

/** Buttons for whoever has no wheel, and what is seen. */
function zoomBar(axis) {
  const range = make("span", {class: "range"});
  const button = (text, label, act) => make("button", {type: "button", class: "button", "aria-label": label, title: label, click: act},
    text);
  const middle = () => (axis.from + axis.to) / 2;
  const show = () => { range.textContent = formatDuration(axis.to - axis.from) + " of " +
                                           formatDuration(axis.full.to - axis.full.from); };
  axis.onChange(show);
  show();
  return make("div", {class: "bar"},
    button("+", "Zoom in", () => axis.zoom(0.5, middle())), button("\u2212", "Zoom out", () => axis.zoom(2, middle())),
    button("\u25c0", "Earlier", () => axis.pan(-0.4)), button("\u25b6", "Later", () => axis.pan(0.4)),
    button("Reset", "Show all", () => axis.reset()), range);
}

/** Calls `listener` when the user goes from light to dark or back. */
function onColours(listener) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", listener);
}
