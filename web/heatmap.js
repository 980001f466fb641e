// SPDX-License-Identifier: GPL-2.0-or-later
// CPU samples below one second: a column per second, a cell per 20 ms. Dragging from cell to cell selects that time.

import { el, onResize, sharpContext } from './dom.js';
import { isDark } from './colors.js';
import { formatMoment } from './format.js';
import { Loader } from './loader.js';
import { isReport } from './api.js';
import { stateAll, stateSelection } from './state.js';

const HEIGHT = 125;

export function heatmapMake(recording, onrange) {
  return new Heatmap(recording, onrange);
}

class Heatmap {
  constructor(recording, onrange) {
    this.recording = recording;
    this.onrange = onrange;
    this.setWindow(0, recording.duration_ns);
    this.canvas = el('canvas', {
      role: 'img',
      'aria-label': 'Heat map of CPU samples: a column per second, a row per 20 milliseconds',
    });
    this.note = el('span.faint');
    this.stage = el('div.heat-stage', {}, this.canvas);
    this.node = el(
      'div.heat',
      { hidden: true },
      el(
        'div.heat-label',
        {},
        el('span', {}, 'CPU samples'),
        el('span.faint', {}, '20 ms per cell, upwards'),
        this.note,
      ),
      this.stage,
    );
    this.loader = new Loader(this.stage);
    this.canvas.addEventListener('pointerdown', (event) => this.down(event));
    this.canvas.addEventListener('pointermove', (event) => this.move(event));
    this.canvas.addEventListener('pointerup', () => this.up());
    this.canvas.addEventListener('pointerleave', () => (this.note.textContent = ''));
    onResize(this.stage, () => this.draw());
    document.addEventListener('theme', () => this.draw());
  }

  // What the lanes above show, so that columns lie below their seconds.
  setWindow(start, end) {
    [this.start, this.span] = [start, Math.max(1, end - start)];
  }

  update() {
    const { from, to, ...selection } = isReport ? {} : stateSelection();
    this.loader.get('heatmap', selection, (answer) => {
      this.answer = answer;
      this.columns = Math.max(1, Math.ceil(answer.values.length / answer.rows));
      this.draw();
    });
    this.draw();
  }

  draw() {
    const { answer, columns } = this;
    const width = this.stage.clientWidth;
    if (!answer || !width) return;
    const context = sharpContext(this.canvas, width, HEIGHT);
    const [w, h] = [this.columnWidth(width), HEIGHT / answer.rows];
    const most = Math.max(1, answer.max);
    const range = this.shownRange();
    context.clearRect(0, 0, width, HEIGHT);
    for (let i = 0; i < columns * answer.rows; i++) {
      const [column, row] = [Math.floor(i / answer.rows), i % answer.rows];
      const at = column * answer.column_ns + row * answer.row_ns;
      context.fillStyle = heatColor(
        answer.values[i] / most,
        range && (at + answer.row_ns <= range[0] || at >= range[1]),
      );
      context.fillRect(
        (column - this.start / answer.column_ns) * w,
        HEIGHT - (row + 1) * h,
        Math.max(1, w - (w > 4 ? 1 : 0)),
        Math.max(1, h - 0.5),
      );
    }
  }

  columnWidth(width) {
    return (width * this.answer.column_ns) / this.span;
  }

  shownRange() {
    if (this.drag) return this.dragRange();
    const { from, to } = stateAll();
    return from || to ? [Number(from || 0), Number(to || Infinity)] : null;
  }

  cellAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const column = Math.min(
      this.columns - 1,
      Math.floor(this.start / this.answer.column_ns + (event.clientX - box.left) / this.columnWidth(box.width)),
    );
    const row = Math.max(
      0,
      Math.min(this.answer.rows - 1, Math.floor(((box.bottom - event.clientY) / HEIGHT) * this.answer.rows)),
    );
    return {
      at: column * this.answer.column_ns + row * this.answer.row_ns,
      value: this.answer.values[column * this.answer.rows + row],
    };
  }

  dragRange() {
    const [a, b] = [this.drag.from, this.drag.to].sort((x, y) => x - y);
    return [a, b + this.answer.row_ns];
  }

  down(event) {
    if (!this.answer) return;
    const { at } = this.cellAt(event);
    this.drag = { from: at, to: at };
    this.canvas.setPointerCapture(event.pointerId);
    this.draw();
  }

  move(event) {
    if (!this.answer) return;
    const { at, value } = this.cellAt(event);
    this.note.textContent = `${formatMoment(at, 1e9)}: ${value} sample${value === 1 ? '' : 's'}`;
    if (!this.drag) return;
    this.drag.to = at;
    this.draw();
  }

  up() {
    if (!this.drag) return;
    const [from, to] = this.dragRange();
    this.drag = null;
    this.onrange(from, Math.min(to, this.recording.duration_ns));
  }
}

function heatColor(part, faded) {
  const alpha = faded ? 0.28 : 1;
  if (!part) return isDark() ? `oklch(0.24 0.01 260 / ${alpha})` : `oklch(0.955 0.004 260 / ${alpha})`;
  const t = Math.sqrt(part);
  return isDark()
    ? `oklch(${0.36 + 0.5 * t} ${0.06 + 0.1 * t} ${25 + 60 * t} / ${alpha})`
    : `oklch(${0.92 - 0.42 * t} ${0.05 + 0.13 * t} ${80 - 50 * t} / ${alpha})`;
}
