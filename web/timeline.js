// SPDX-License-Identifier: GPL-2.0-or-later
// The timeline: lanes over time, drawn by uPlot, below one brush that selects the range for everything else.

import { isReport } from './api.js';
import { Brush } from './brush.js';
import { button, el, fill, fillControls, onResize, sharpContext, toggle } from './dom.js';
import { cleanName, formatMoment, formatValue } from './format.js';
import { heatmapMake } from './heatmap.js';
import { Loader } from './loader.js';
import { stateAll, stateSelection, stateSet, stateSetOf, stateToggled } from './state.js';

const BUCKETS = 800;
const LANE_PX = { top: 29, child: 21 };
const AXIS_PX = 20;
const SHOWN_CHILDREN = 12;

export function timelineMake(node, recording) {
  return new Timeline(node, recording);
}

class Timeline {
  constructor(node, recording) {
    this.node = node;
    this.recording = recording;
    this.charts = [];
    this.readout = el('span.readout');
    this.tools = el('div.timeline-tools');
    this.gutter = el('div.gutter');
    this.plots = el('div.plots');
    this.axis = el('canvas.axis', { 'aria-hidden': 'true' });
    this.brush = new Brush(recording.duration_ns, {
      range: (from, to) => timelineSelect(from, to),
      hover: (ns) => this.hover(ns),
    });
    this.stage = el('div.stage', {}, this.plots, this.brush.node);
    this.scroll = el('div.timeline-scroll', {}, this.gutter, this.stage);
    this.body = el('div.timeline-body', {}, this.scroll, this.axis);
    this.heat = heatmapMake(recording, (from, to) => timelineSelect(from, to));
    fill(node, this.tools, this.body, this.heat.node);
    this.loader = new Loader(this.body);
    onResize(this.stage, () => this.draw());
    document.addEventListener('theme', () => this.draw(true));
  }

  update() {
    const state = stateAll();
    const folded = state.folded === '1';
    this.node.classList.toggle('is-folded', folded);
    this.showTools(folded);
    const [start, end] = this.window();
    this.brush.setWindow(start, end);
    this.heat.setWindow(start, end);
    this.heat.node.hidden = state.heat !== '1' || folded;
    this.showRanges();
    if (folded) return;
    if (state.heat === '1') this.heat.update();
    this.load();
    this.draw();
  }

  // What the lanes show: all of the recording, or the part that was zoomed into.
  window() {
    const { tfrom, tto } = stateAll();
    return tto && !isReport ? [Number(tfrom || 0), Number(tto)] : [0, this.recording.duration_ns];
  }

  load() {
    const { from, to, ...selection } = isReport ? {} : stateSelection();
    if (stateAll().tto) Object.assign(selection, { from: stateAll().tfrom || '0', to: stateAll().tto });
    const expand = isReport ? '' : [...stateSetOf('open')].filter((id) => id.startsWith('cpu/')).join(',');
    this.loader.get('timeline', { buckets: BUCKETS, expand, ...selection }, (answer) => this.show(answer));
  }

  refresh(recording) {
    this.recording = recording;
    this.brush.duration = recording.duration_ns;
    this.loader.forget();
    this.update();
  }

  showTools(folded) {
    const { from } = stateAll();
    fillControls(
      this.tools,
      button(folded ? '▸ Timeline' : '▾ Timeline', () => stateSet({ folded: folded ? '' : '1' }), {
        class: 'quiet',
        'aria-expanded': String(!folded),
        'aria-label': 'Timeline',
        title: 'Fold the timeline (l)',
      }),
      folded
        ? null
        : toggle('Heat map', stateAll().heat === '1', (on) => stateSet({ heat: on ? '1' : '' }), {
            title: 'CPU samples, 20 ms per cell (m)',
          }),
      this.readout,
      el('span.spring'),
      from && !isReport ? button('Zoom in', timelineZoomIn, { title: 'The timeline shows the range only (z)' }) : null,
      stateAll().tto
        ? button('Zoom out', timelineZoomOut, { title: 'The timeline shows the whole recording (Z)' })
        : null,
      from && !isReport
        ? [
            button('Set A', () => timelineKeep('a'), { class: 'side-a', title: 'Compare: this range is A (a)' }),
            button('Set B', () => timelineKeep('b'), { class: 'side-b', title: 'Compare: this range is B (b)' }),
          ]
        : null,
      from || folded ? null : el('span.hint', {}, 'drag to select a range'),
    );
  }

  showRanges() {
    const state = stateAll();
    const range = (a, b) =>
      state[a] || state[b] ? [Number(state[a] || 0), Number(state[b] || this.recording.duration_ns)] : [null, null];
    this.brush.show(...range('from', 'to'));
    this.brush.showSide('a', ...range('afrom', 'ato'));
    this.brush.showSide('b', ...range('bfrom', 'bto'));
  }

  show(answer) {
    this.answer = answer;
    this.draw(true);
  }

  // Lanes in order: each top lane, and below it its children where it is open.
  lanesShown() {
    const open = stateSetOf('open');
    const lanes = this.answer.lanes.filter((lane) => lane.values.some(Boolean));
    const shown = [];
    const add = (parent, depth) => {
      const own = lanes.filter((lane) => (lane.parent ?? null) === parent);
      if (depth) own.sort((a, b) => timelineSum(b) - timelineSum(a));
      for (const lane of own.slice(0, depth ? SHOWN_CHILDREN : own.length)) {
        const children = lanes.some((l) => l.parent === lane.id) || timelineCanExpand(lane);
        shown.push({ lane, depth, children, open: open.has(lane.id) });
        if (open.has(lane.id)) add(lane.id, depth + 1);
      }
    };
    add(null, 0);
    return shown;
  }

  draw(anew = false) {
    const width = this.stage.clientWidth;
    const { open } = stateAll();
    if (!this.answer || !width || (!anew && width === this.drawnWidth && open === this.drawnOpen)) return;
    if (anew || open !== this.drawnOpen) this.build(width);
    else for (const chart of this.charts) chart.plot.setSize({ width, height: chart.height });
    [this.drawnWidth, this.drawnOpen] = [width, open];
    this.drawAxis(width);
    this.heat.node.style.setProperty('--stage', `${width}px`);
  }

  build(width) {
    for (const chart of this.charts) chart.plot.destroy();
    const shown = this.lanesShown();
    const xs = Array.from(
      { length: this.answer.lanes[0]?.values.length ?? 0 },
      (_, i) => this.window()[0] + (i + 0.5) * this.answer.bucket_ns,
    );
    this.charts = shown.map((row) => this.chart(row, xs, width));
    fill(
      this.plots,
      this.charts.map((chart) => chart.node),
    );
    fillControls(
      this.gutter,
      shown.map((row, i) => this.label(row, this.charts[i])),
    );
  }

  chart({ lane, depth }, xs, width) {
    const height = depth ? LANE_PX.child : LANE_PX.top;
    const node = el('div.lane', { class: depth ? 'is-child' : '' });
    node.style.height = `${height}px`;
    const color = timelineColor(lane.id);
    const most = Math.max(...lane.values, 0);
    const plot = new window.uPlot(
      {
        width,
        height,
        pxAlign: false,
        cursor: { show: false },
        legend: { show: false },
        padding: [3, 0, 0, 0],
        scales: { x: { time: false, range: this.window() }, y: { range: [Math.min(0, ...lane.values), most || 1] } },
        axes: [{ show: false }, { show: false }],
        series: [
          {},
          {
            stroke: color,
            width: lane.kind === 'bars' ? 0 : 1.2,
            fill: timelineFaded(color, lane.kind === 'bars' ? 0.85 : 0.22),
            points: { show: false },
            paths:
              lane.kind === 'bars'
                ? window.uPlot.paths.bars({ size: [1, 4] })
                : window.uPlot.paths.stepped({ align: 0 }),
          },
        ],
      },
      [xs, lane.values],
      node,
    );
    return { node, plot, lane, height, value: el('span.lane-value'), most };
  }

  label({ lane, depth, children, open }, chart) {
    const name = cleanName(lane.label, 60) || '[no name]';
    const fold = children
      ? el(
          'button.fold',
          {
            type: 'button',
            'aria-expanded': String(open),
            'aria-label': `Expand ${name}`,
            onclick: () => stateSet({ open: stateToggled('open', lane.id) }),
          },
          open ? '▾' : '▸',
        )
      : el('span.fold');
    const command = /^cpu\/([^/]*)$/.exec(lane.id)?.[1];
    const text =
      command !== undefined && !isReport
        ? el(
            'button.lane-name.link',
            {
              type: 'button',
              title: `Only ${name}`,
              onclick: () => stateSet({ command: stateAll().command === command ? '' : command }),
            },
            name,
          )
        : el('span.lane-name', { title: name }, name);
    chart.value.textContent = `max ${formatValue(chart.most, lane.unit)}`;
    const node = el('div.lane-label', { class: `depth-${Math.min(2, depth)}` }, fold, text, chart.value);
    node.style.height = `${chart.height}px`;
    return node;
  }

  drawAxis(width) {
    const context = sharpContext(this.axis, width, AXIS_PX);
    const [start, end] = this.window();
    const step = timelineStep(end - start, width / 90);
    context.clearRect(0, 0, width, AXIS_PX);
    context.font = '11px Inter, system-ui, sans-serif';
    context.fillStyle = timelineInk('--faint');
    const after = this.recording.after_ns;
    for (let ns = Math.ceil((start + after) / step) * step - after; ns <= end; ns += step) {
      const x = ((ns - start) / (end - start)) * width;
      context.fillRect(Math.round(x), 0, 1, 4);
      const text = formatMoment(ns, step * 10);
      const wide = context.measureText(text).width;
      context.fillText(text, Math.min(width - wide - 1, Math.max(1, x - wide / 2)), 15);
    }
  }

  hover(ns) {
    this.readout.textContent = ns === null ? '' : formatMoment(ns, this.brush.span / 100);
    for (const chart of this.charts) {
      const value =
        ns === null
          ? null
          : chart.lane.values[
              Math.min(chart.lane.values.length - 1, Math.floor((ns - this.window()[0]) / this.answer.bucket_ns))
            ];
      chart.value.textContent =
        ns === null ? `max ${formatValue(chart.most, chart.lane.unit)}` : formatValue(value, chart.lane.unit);
    }
  }
}

function timelineCanExpand(lane) {
  return !isReport && /^cpu\/[^/]+$/.test(lane.id);
}

function timelineSum(lane) {
  return lane.values.reduce((sum, value) => sum + value, 0);
}

function timelineSelect(from, to) {
  if (from === null) stateSet({ from: '', to: '' });
  else stateSet({ from: Math.floor(from), to: Math.ceil(to) });
}

// Keeps the selected range as side A or B of a comparison.
export function timelineKeep(side) {
  const { from, to } = stateAll();
  if (from || to) stateSet({ [`${side}from`]: from, [`${side}to`]: to, from: '', to: '' });
}

export function timelineZoomIn() {
  const { from, to } = stateAll();
  if (to && !isReport) stateSet({ tfrom: from, tto: to });
}

export function timelineZoomOut() {
  stateSet({ tfrom: '', tto: '' });
}

const LANE_INKS = {
  cpu: '--lane-cpu',
  runnable: '--lane-runnable',
  offcpu: '--lane-offcpu',
  rss: '--lane-rss',
  disk: '--lane-disk',
  files: '--lane-files',
  net: '--lane-net',
  faults: '--lane-faults',
  wakeups: '--lane-wakeups',
  spans: '--lane-spans',
  lost: '--lane-lost',
};

function timelineColor(id) {
  const key = id.startsWith('offcpu/runnable') ? 'runnable' : id.split('/')[0];
  return timelineInk(LANE_INKS[key] ?? '--accent');
}

// Returns what a colour of the theme is now, as a canvas takes it.
export function timelineInk(name) {
  const probe = el('span');
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const color = getComputedStyle(probe).color;
  probe.remove();
  return color;
}

// rgb(1, 2, 3) → rgba(1, 2, 3, 0.22)
function timelineFaded(color, alpha) {
  return color.replace('rgb(', 'rgba(').replace(')', `, ${alpha})`);
}

// Returns a step of 1, 2 or 5 times a power of ten, so that about `count` fit.
function timelineStep(duration, count) {
  const rough = duration / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
  return power * ([1, 2, 5, 10].find((f) => f * power >= rough) ?? 10);
}
