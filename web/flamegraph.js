// SPDX-License-Identifier: GPL-2.0-or-later
// A flame graph on a canvas: drawing, zoom, hover, selection, keys. It draws what is visible only.

import { announce, el, onResize, sharpContext } from './dom.js';
import { colorNodes, flameInk } from './colors.js';
import { cleanName, formatShare, formatValue } from './format.js';
import { modelModule, modelName } from './flamemodel.js';

const ROW = 19;
const MIN_PX = 0.35;
const LABEL_PX = 28;
const PAD = 5;
const ZOOM_MS = 140;
const FONT = '11.5px Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';

export class FlameGraph {
  // `on`: { select(node), zoom(node), tip(node, event) }; `label`: what screen readers call it.
  constructor(label, on) {
    this.on = on;
    this.canvas = el('canvas.flame-canvas');
    this.spacer = el('div.flame-spacer');
    this.host = el(
      'div.flame-scroll',
      { tabIndex: 0, role: 'application', 'aria-roledescription': 'flame graph', 'aria-label': label },
      this.canvas,
      this.spacer,
    );
    this.model = null;
    this.zoomed = 0;
    this.selected = -1;
    this.hovered = -1;
    this.flip = false;
    this.way = 'kind';
    this.matched = null;
    this.range = [0, 1];
    this.labels = new Map();
    this.listen();
  }

  listen() {
    const { host } = this;
    onResize(host, () => this.resize());
    host.addEventListener('scroll', () => this.draw());
    host.addEventListener('pointermove', (event) => this.hover(this.nodeAt(event), event));
    host.addEventListener('pointerleave', () => this.hover(-1, null));
    host.addEventListener('click', (event) => this.click(this.nodeAt(event)));
    host.addEventListener('keydown', (event) => this.key(event));
    host.addEventListener('focus', () => this.draw());
    host.addEventListener('blur', () => this.draw());
  }

  setModel(model) {
    this.model = model;
    this.zoomed = 0;
    this.selected = this.hovered = -1;
    this.matched = null;
    this.labels.clear();
    this.range = [0, model.width[0] || 1];
    this.recolor();
    this.host.scrollTop = 0;
    this.resize();
  }

  recolor(way = this.way) {
    this.way = way;
    if (this.model) [this.table, this.colorOf] = colorNodes(this.model, this.way);
    this.draw();
  }

  // A flame begins at the bottom: the style sheet reverses the scrolling, so that 0 is there and rows above are negative.
  setFlip(flip) {
    if (flip === this.flip) return;
    this.flip = flip;
    this.host.classList.toggle('flip', flip);
    this.host.scrollTop = 0;
    this.resize();
  }

  setMatches(matched) {
    this.matched = matched;
    this.draw();
  }

  resize() {
    if (!this.model) return;
    const rows = this.model.rows.length * ROW;
    this.spacer.style.height = `${Math.max(0, rows - this.host.clientHeight)}px`;
    this.drawNow();
  }

  // ---- drawing

  draw() {
    cancelAnimationFrame(this.waiting);
    this.waiting = requestAnimationFrame(() => this.drawNow());
  }

  drawNow() {
    const { host, model, canvas } = this;
    const [width, height] = [host.clientWidth, host.clientHeight];
    if (!model || !width || !height) return;
    const context = sharpContext(canvas, width, height);
    context.clearRect(0, 0, width, height);
    context.font = FONT;
    context.textBaseline = 'middle';
    const visible = this.collect(width, height);
    this.drawBoxes(context, visible);
    this.drawLabels(context, visible);
    this.drawMarks(context, width);
  }

  rowTop(depth) {
    const { clientHeight, scrollTop } = this.host;
    return (this.flip ? clientHeight - (depth + 1) * ROW : depth * ROW) - scrollTop;
  }

  scale() {
    return this.host.clientWidth / (this.range[1] - this.range[0]);
  }

  // Returns the visible frames as one array of [node, x, y, width] each. Frames below a third of a pixel are left out,
  // and of those below one pixel only one per pixel is drawn.
  collect(width, height) {
    const { model, range } = this;
    const scale = this.scale();
    const found = [];
    for (let depth = 0; depth < model.rows.length; depth++) {
      const y = this.rowTop(depth);
      if (y + ROW < 0 || y > height) continue;
      const row = model.rows[depth];
      let pixel = -1;
      for (let i = firstAfter(model, row, range[0]); i < row.length; i++) {
        const node = row[i];
        const x = (model.x[node] - range[0]) * scale;
        if (x >= width) break;
        const w = model.width[node] * scale;
        if (w < 1 && (w < MIN_PX || Math.floor(x) === pixel)) continue;
        if (w < 1) pixel = Math.floor(x);
        const left = Math.max(0, x);
        found.push(node, left, y, Math.max(1, Math.min(width, x + w) - left));
      }
    }
    return found;
  }

  // One fill colour after the other: setting it per frame would cost more than the drawing.
  drawBoxes(context, visible) {
    const ink = flameInk();
    const groups = new Map();
    for (let v = 0; v < visible.length; v += 4) {
      const color = this.colorFor(visible[v], ink);
      const group = groups.get(color);
      if (group) group.push(v);
      else groups.set(color, [v]);
    }
    for (const [color, group] of groups) {
      context.fillStyle = color;
      for (const v of group) {
        const w = visible[v + 3];
        context.fillRect(visible[v + 1], visible[v + 2], w > 3 ? w - 1 : w, ROW - 1);
      }
    }
  }

  colorFor(node, ink) {
    if (this.matched) return this.matched[node] ? ink.match : ink.dim;
    return this.table[this.colorOf[node]];
  }

  drawLabels(context, visible) {
    const ink = flameInk();
    for (let v = 0; v < visible.length; v += 4) {
      const [node, x, y, w] = [visible[v], visible[v + 1], visible[v + 2], visible[v + 3]];
      if (w < LABEL_PX) continue;
      context.fillStyle = !this.matched ? ink.text : this.matched[node] ? ink.matchText : ink.dimText;
      const text = this.fitted(context, node, w - 2 * PAD);
      if (text) context.fillText(text, x + PAD, y + ROW / 2);
    }
  }

  // Returns the frame's name, cut to a width. Names are measured once.
  fitted(context, node, width) {
    const id = node ? this.model.name[node] : -1;
    let label = this.labels.get(id);
    if (!label) {
      const text = node
        ? cleanName(modelName(this.model, node), 300)
        : `${cleanName(modelName(this.model, 0))} · ${formatValue(this.model.sum, this.model.unit)}`;
      label = { text, width: context.measureText(text).width };
      this.labels.set(id, label);
    }
    if (label.width <= width) return label.text;
    let length = Math.floor((label.text.length * width) / label.width);
    while (length > 1 && context.measureText(`${label.text.slice(0, length)}…`).width > width) length--;
    return length > 1 ? `${label.text.slice(0, length)}…` : '';
  }

  drawMarks(context, width) {
    const ink = flameInk();
    for (const [node, line] of [
      [this.hovered, 1],
      [this.selected, 2],
    ]) {
      if (node < 0 || (line === 2 && document.activeElement !== this.host && this.hovered === node)) continue;
      const box = this.boxOf(node, width);
      if (!box) continue;
      context.strokeStyle = ink.edge;
      context.lineWidth = line;
      context.strokeRect(box[0] + line / 2, box[1] + line / 2, Math.max(1, box[2] - 1 - line), ROW - 1 - line);
    }
  }

  boxOf(node, width) {
    const scale = this.scale();
    const x = (this.model.x[node] - this.range[0]) * scale;
    const left = Math.max(0, x);
    const right = Math.min(width, x + this.model.width[node] * scale);
    return right > left ? [left, this.rowTop(this.model.depth[node]), right - left] : null;
  }

  // ---- pointer

  nodeAt(event) {
    if (!this.model) return -1;
    const box = this.host.getBoundingClientRect();
    const value = this.range[0] + (event.clientX - box.left) / this.scale();
    const y = event.clientY - box.top;
    const top = this.rowTop(0);
    const depth = Math.floor(this.flip ? (top + ROW - y) / ROW : (y - top) / ROW);
    const row = this.model.rows[depth];
    if (!row) return -1;
    const node = row[firstAfter(this.model, row, value)];
    return node !== undefined && this.model.x[node] <= value ? node : -1;
  }

  hover(node, event) {
    if (node !== this.hovered) {
      this.hovered = node;
      this.host.classList.toggle('over', node >= 0);
      this.draw();
    }
    this.on.tip(node, event);
  }

  // The first click selects and zooms; a click on the zoomed frame goes back to its parent.
  click(node) {
    if (node < 0) return;
    this.select(node);
    this.zoom(node === this.zoomed && node > 0 ? this.model.parent[node] : node);
  }

  select(node) {
    this.selected = node;
    this.reveal(node);
    this.draw();
    this.on.select(node);
    if (node >= 0) announce(this.describe(node));
  }

  describe(node) {
    const { model } = this;
    const module = modelModule(model, node);
    return `${cleanName(modelName(model, node), 200)}${module ? `, ${cleanName(module, 100)}` : ''}, ${formatValue(model.total[node], model.unit)}, ${formatShare(model.width[node], model.width[0])}`;
  }

  reveal(node) {
    const y = this.rowTop(this.model.depth[node]);
    if (y < 0) this.host.scrollTop += y;
    else if (y + ROW > this.host.clientHeight) this.host.scrollTop += y + ROW - this.host.clientHeight;
  }

  // ---- zoom

  zoom(node, quiet = false) {
    const { model } = this;
    if (!model || node < 0 || !model.width[node]) return;
    this.zoomed = node;
    const goal = [model.x[node], model.x[node] + model.width[node]];
    if (quiet || matchMedia('(prefers-reduced-motion: reduce)').matches) this.range = goal;
    else this.animate(this.range, goal);
    this.draw();
    if (!quiet) this.on.zoom(node);
  }

  animate(from, goal) {
    const began = performance.now();
    const step = () => {
      const t = Math.min(1, (performance.now() - began) / ZOOM_MS);
      const eased = 1 - (1 - t) ** 3;
      this.range = [from[0] + (goal[0] - from[0]) * eased, from[1] + (goal[1] - from[1]) * eased];
      this.drawNow();
      if (t < 1 && this.goal === goal) requestAnimationFrame(step);
    };
    this.goal = goal;
    requestAnimationFrame(step);
  }

  zoomOut() {
    if (this.zoomed <= 0) return false;
    this.select(this.zoomed);
    this.zoom(this.model.parent[this.zoomed]);
    return true;
  }

  // ---- keys

  key(event) {
    if (!this.model || event.ctrlKey || event.metaKey || event.altKey) return;
    const action = KEYS[event.key];
    if (!action || action(this, event) === false) return;
    event.preventDefault();
    event.stopPropagation();
  }

  step(down) {
    const { model } = this;
    const node = this.selected < 0 ? this.zoomed : this.selected;
    const child = model.children[model.first[node]];
    const next =
      this.selected < 0
        ? node
        : !down
          ? model.parent[node]
          : model.first[node] < model.first[node + 1] && model.width[child]
            ? child
            : -1;
    if (next >= 0) this.moveTo(next);
  }

  sideways(direction) {
    const { model } = this;
    if (this.selected <= 0) return;
    const row = model.rows[model.depth[this.selected]];
    const next = row[row.indexOf(this.selected) + direction];
    if (next !== undefined) this.moveTo(next);
  }

  // Selects a frame; where it is outside of what is zoomed, zooms out to the frame that holds both.
  moveTo(node) {
    let holder = this.zoomed;
    while (holder > 0 && !this.holds(holder, node)) holder = this.model.parent[holder];
    this.select(node);
    if (holder !== this.zoomed) this.zoom(holder);
  }

  holds(outer, node) {
    if (this.model.depth[node] < this.model.depth[outer]) return this.holds(node, outer);
    for (let i = node; i >= 0; i = this.model.parent[i]) if (i === outer) return true;
    return false;
  }

  nextMatch(direction) {
    if (!this.matched) return false;
    const count = this.model.count;
    for (let i = 1, node = Math.max(0, this.selected); i <= count; i++) {
      node = (node + direction + count) % count;
      if (this.matched[node] && this.model.width[node]) return this.moveTo(node);
    }
    return false;
  }
}

const KEYS = {
  ArrowDown: (flame) => flame.step(!flame.flip),
  ArrowUp: (flame) => flame.step(flame.flip),
  ArrowLeft: (flame) => flame.sideways(-1),
  ArrowRight: (flame) => flame.sideways(1),
  Enter: (flame) => (flame.selected >= 0 ? flame.zoom(flame.selected) : false),
  Backspace: (flame) => flame.zoomOut(),
  Escape: (flame) => flame.zoomOut(),
  Home: (flame) => {
    flame.moveTo(0);
    flame.zoom(0);
  },
  n: (flame) => flame.nextMatch(1),
  N: (flame) => flame.nextMatch(-1),
};

// Returns the index in a row of the first frame that ends after a value.
function firstAfter(model, row, value) {
  let [low, high] = [0, row.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (model.x[row[middle]] + model.width[row[middle]] > value) high = middle;
    else low = middle + 1;
  }
  return low;
}
