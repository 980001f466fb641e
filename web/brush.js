// SPDX-License-Identifier: GPL-2.0-or-later
// Selecting a range of time over the lanes: by dragging, by its edges, by keys.

import { el } from './dom.js';
import { formatMoment, formatTime } from './format.js';

const EDGE_PX = 6;
const CLICK_PX = 3;

export class Brush {
  // `on`: { range(from, to) with null for none, hover(ns or null) }
  constructor(durationNs, on) {
    this.duration = durationNs;
    this.setWindow(0, durationNs);
    this.on = on;
    this.box = el('div.brush-range', { hidden: true });
    this.line = el('div.brush-line', { hidden: true });
    this.sides = { a: el('div.brush-side.a', { hidden: true }, 'A'), b: el('div.brush-side.b', { hidden: true }, 'B') };
    this.node = el(
      'div.brush',
      { tabIndex: 0, role: 'slider', 'aria-label': 'Selected range of time', 'aria-valuemin': 0, 'aria-valuemax': 100 },
      this.sides.a,
      this.sides.b,
      this.box,
      this.line,
    );
    this.node.addEventListener('pointerdown', (event) => this.down(event));
    this.node.addEventListener('pointermove', (event) => this.move(event));
    this.node.addEventListener('pointerleave', () => this.leave());
    this.node.addEventListener('dblclick', () => on.range(null, null));
    this.node.addEventListener('keydown', (event) => this.key(event));
    this.show(null, null);
  }

  // What the lanes show: all of the recording, or a part.
  setWindow(start, end) {
    [this.start, this.span] = [start, Math.max(1, end - start)];
  }

  at(event) {
    const box = this.node.getBoundingClientRect();
    return this.start + Math.max(0, Math.min(1, (event.clientX - box.left) / box.width)) * this.span;
  }

  // Returns the edge of the range near the pointer, or null.
  edge(event) {
    if (this.from === null) return null;
    const near = (EDGE_PX / this.node.clientWidth) * this.span;
    const ns = this.at(event);
    return Math.abs(ns - this.from) < near ? 'from' : Math.abs(ns - this.to) < near ? 'to' : null;
  }

  down(event) {
    if (event.button !== 0) return;
    const edge = this.edge(event);
    this.drag = {
      fixed: edge ? (edge === 'from' ? this.to : this.from) : this.at(event),
      x: event.clientX,
      moved: Boolean(edge),
    };
    this.node.setPointerCapture(event.pointerId);
    this.node.addEventListener('pointerup', (up) => this.up(up), { once: true });
  }

  move(event) {
    const ns = this.at(event);
    this.line.hidden = false;
    this.line.style.left = `${(100 * (ns - this.start)) / this.span}%`;
    this.node.classList.toggle('edge', Boolean(this.drag) || Boolean(this.edge(event)));
    this.on.hover(ns);
    if (!this.drag) return;
    this.drag.moved ||= Math.abs(event.clientX - this.drag.x) > CLICK_PX;
    if (this.drag.moved) this.place(Math.min(this.drag.fixed, ns), Math.max(this.drag.fixed, ns));
  }

  up(event) {
    const { drag } = this;
    this.drag = null;
    if (!drag) return;
    const ns = this.at(event);
    if (drag.moved) this.on.range(Math.min(drag.fixed, ns), Math.max(drag.fixed, ns));
    else this.on.range(null, null);
  }

  leave() {
    this.line.hidden = true;
    this.on.hover(null);
  }

  key(event) {
    const step = KEYS_OF_BRUSH[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === 'Escape') return void this.on.range(null, null);
    const [from, to] =
      this.from === null
        ? [this.start + this.span * 0.4, this.start + this.span * 0.6]
        : step(this.from, this.to, event.shiftKey);
    this.on.range(Math.max(0, Math.min(from, to)), Math.min(this.duration, Math.max(from, to)));
  }

  place(from, to) {
    this.placeBox(this.box, from, to);
  }

  placeBox(box, from, to) {
    box.hidden = from === null;
    if (from === null) return;
    box.style.left = `${(100 * (from - this.start)) / this.span}%`;
    box.style.width = `${(100 * Math.max(to - from, this.span / 2000)) / this.span}%`;
  }

  show(from, to) {
    [this.from, this.to] = [from, to];
    this.place(from, to);
    this.node.setAttribute('aria-valuenow', from === null ? 0 : Math.round((100 * from) / this.duration));
    this.node.setAttribute(
      'aria-valuetext',
      from === null
        ? 'the whole recording'
        : `${formatMoment(from, to - from)} to ${formatMoment(to, to - from)}, ${formatTime(to - from)}`,
    );
  }

  showSide(side, from, to) {
    this.placeBox(this.sides[side], from, to);
  }
}

const MOVE = 0.1;
// Moves the range by a tenth of its length; with Shift moves its end only. + and - make it shorter and longer.
const KEYS_OF_BRUSH = {
  ArrowLeft: (a, b, shift) => [a - (shift ? 0 : (b - a) * MOVE), b - (b - a) * MOVE],
  ArrowRight: (a, b, shift) => [a + (shift ? 0 : (b - a) * MOVE), b + (b - a) * MOVE],
  '+': (a, b) => [a + (b - a) / 4, b - (b - a) / 4],
  '=': (a, b) => [a + (b - a) / 4, b - (b - a) / 4],
  '-': (a, b) => [a - (b - a) / 2, b + (b - a) / 2],
  Home: (a, b) => [0, b - a],
  End: (a) => [a, Infinity],
  Escape: () => [0, 0],
};
