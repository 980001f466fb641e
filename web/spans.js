// SPDX-License-Identifier: GPL-2.0-or-later
// Spans: how long each kind takes, and in what the slowest ones waited.

import { isReport } from './api.js';
import { stateColor, stateLabel } from './colors.js';
import { button, el, fill, onResize } from './dom.js';
import { cleanName, formatCount, formatExact, formatMoment, formatShare, formatTime } from './format.js';
import { Loader } from './loader.js';
import { stateSelection, stateSet } from './state.js';
import { Table } from './table.js';
import { timelineInk } from './timeline.js';
import { tipHide, tipShow } from './tip.js';
import { waitsShowStacks } from './waits.js';

const CHART_PX = 150;

export function spansView(page) {
  return new SpansView(page);
}

const spansTime = (id, label) => ({ id, label, number: true, show: (r) => formatTime(r[id]), value: (r) => r[id] });

class SpansView {
  constructor(page) {
    this.page = page;
    this.table = new Table(
      'Spans',
      [
        {
          id: 'name',
          label: 'Span',
          show: (r) => cleanName(r.name, 120) || '[no name]',
          value: (r) => r.name,
          class: 'name',
        },
        { id: 'count', label: 'Count', number: true, show: (r) => formatCount(r.count), value: (r) => r.count },
        spansTime('p50', 'Median'),
        spansTime('p95', '95 %'),
        spansTime('p99', '99 %'),
        spansTime('max', 'Longest'),
      ],
      { pick: (row) => this.pick(row) },
    );
    this.chart = el('div.chart');
    this.title = el('h2');
    this.falls = el('div.falls');
    this.panel = el('aside.details', { 'aria-label': 'Stacks' });
    this.legend = el(
      'div.legends',
      {},
      ['cpu', 'runnable', 'blocked'].map((state) => this.mark(state, stateLabel(state))),
    );
    const right = el(
      'div.column.spans-right',
      {},
      this.title,
      this.chart,
      el('h2', {}, 'Slowest'),
      this.legend,
      this.falls,
    );
    this.holder = el('div.holder.spans', {}, this.table.node, right);
    this.node = el('div.view', {}, el('div.split', {}, this.holder, this.panel));
    this.loader = new Loader(this.holder);
    onResize(this.chart, () => this.plot?.setSize({ width: this.chart.clientWidth, height: CHART_PX }));
    document.addEventListener('theme', () => this.answer && this.show(this.answer));
  }

  mark(state, text) {
    const dot = el('span.dot');
    dot.style.background = stateColor(state);
    return el('span.legend', {}, dot, text);
  }

  update() {
    this.loader.get('spans', isReport ? {} : stateSelection(), (answer) => this.show(answer));
  }

  show(answer) {
    this.answer = answer;
    if (!answer.names.length) return this.loader.showNote('No spans', 'No span ended in what is selected.');
    this.table.sortId = 'p99';
    this.table.show(answer.names);
    fill(this.panel, el('p.faint', {}, 'Select a wait in a bar to see its stack.'));
    this.showSpan(answer.names.find((n) => n.name === this.name) ?? this.table.rows[0]);
  }

  pick(row) {
    this.showSpan(row);
  }

  showSpan(row) {
    this.name = row.name;
    fill(
      this.title,
      cleanName(row.name, 200) || '[no name]',
      el(
        'span.faint',
        {},
        `${formatExact(row.count)} ${row.count === 1 ? 'span' : 'spans'} · median ${formatTime(row.p50)} · 99 % ${formatTime(row.p99)}`,
      ),
      button(
        'Only this span',
        () =>
          stateSet({
            span: row.name,
            view: 'flame',
            metric: this.page.recording.metrics.some((m) => m.id === 'wall') ? 'wall' : '',
          }),
        { class: 'quiet' },
      ),
    );
    this.showHistogram(row);
    const slowest = this.answer.slowest.filter((s) => s.name === row.name);
    fill(
      this.falls,
      slowest.length ? this.waterfall(slowest) : el('p.faint', {}, 'None of the slowest spans is of this kind.'),
    );
  }

  // Bars between the server's edges, which are logarithmic: each bar is equally wide.
  showHistogram({ histogram, p50, p95, p99 }) {
    this.plot?.destroy();
    const { edges, counts } = histogram;
    const axis = {
      stroke: timelineInk('--faint'),
      grid: { stroke: timelineInk('--line'), width: 1 },
      ticks: { stroke: timelineInk('--line') },
      font: '11px Inter, system-ui, sans-serif',
    };
    const color = timelineInk('--lane-spans');
    this.plot = new window.uPlot(
      {
        width: Math.max(100, this.chart.clientWidth),
        height: CHART_PX,
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { time: false, range: [0, counts.length] }, y: { range: (u, min, max) => [0, max || 1] } },
        axes: [
          {
            ...axis,
            grid: { show: false },
            values: (u, splits) => splits.map((i) => (Number.isInteger(i) ? formatTime(edges[i]) : '')),
            space: 70,
          },
          { ...axis, size: 44, values: (u, splits) => splits.map((n) => (Number.isInteger(n) ? formatCount(n) : '')) },
        ],
        series: [
          {},
          {
            fill: color,
            stroke: color,
            width: 0,
            paths: window.uPlot.paths.bars({ size: [0.9, 40, 2] }),
            points: { show: false },
          },
        ],
        hooks: { draw: [(u) => this.drawPercentiles(u, edges, { p50, p95, p99 })] },
      },
      [counts.map((_, i) => i + 0.5), counts],
      this.chart,
    );
    this.chart.setAttribute('role', 'img');
    this.chart.setAttribute(
      'aria-label',
      `Histogram of latencies: median ${formatTime(p50)}, 99 percent below ${formatTime(p99)}`,
    );
  }

  drawPercentiles(u, edges, percentiles) {
    const { ctx } = u;
    const ratio = devicePixelRatio || 1;
    ctx.save();
    ctx.fillStyle = timelineInk('--text');
    ctx.font = `${11 * ratio}px Inter, system-ui, sans-serif`;
    // The chart has left the alignment of the labels of its axis.
    ctx.textAlign = 'left';
    ctx.textBaseline = 'alphabetic';
    const [end, gap] = [u.bbox.left + u.bbox.width, 3 * ratio];
    let free = -Infinity;
    for (const [label, ns] of Object.entries(percentiles)) {
      const x = u.valToPos(spansPosition(edges, ns), 'x', true);
      const wide = ctx.measureText(label).width;
      const start = x + gap + wide > end ? x - gap - wide : x + gap;
      ctx.fillRect(Math.round(x), u.bbox.top, ratio, u.bbox.height);
      if (start < free) continue; // it would lie over the one before
      ctx.fillText(label, start, u.bbox.top + 10 * ratio);
      free = start + wide + gap;
    }
    ctx.restore();
  }

  // One bar per span, all on one scale; what it waited for lies in it where and how long it was.
  waterfall(spans) {
    const longest = Math.max(...spans.map((s) => s.duration));
    return spans.map((span) => {
      const bar = el(
        'div.fall-bar',
        {},
        el('div.fall-whole'),
        span.waits.map((wait) => this.wait(span, wait)),
      );
      bar.style.width = `${(100 * span.duration) / longest}%`;
      return el(
        'div.fall',
        {},
        el(
          'div.fall-label',
          {},
          el(
            'button.link',
            {
              type: 'button',
              title: 'Select this time',
              onclick: () => stateSet({ from: Math.floor(span.start), to: Math.ceil(span.start + span.duration) }),
            },
            formatMoment(span.start, span.duration),
          ),
          el('span.faint', {}, `${cleanName(span.thread, 30)} ${span.pid}`),
          el('b', {}, formatTime(span.duration)),
          el('span.faint', {}, `${formatShare(span.oncpu, span.duration)} on CPU`),
        ),
        el('div.fall-track', {}, bar),
      );
    });
  }

  wait(span, wait) {
    const state = wait.state === 'runnable' || wait.state === 'preempted' ? 'runnable' : 'blocked';
    const text = `${stateLabel(wait.state)} ${formatTime(wait.duration)}`;
    const node = el('button.fall-wait', {
      type: 'button',
      'aria-label': text,
      onclick: () => waitsShowStacks(this.panel, [[text, wait.stack]]),
      onpointermove: (event) =>
        tipShow(event, el('b', {}, text), el('span.faint', {}, `after ${formatTime(wait.start - span.start)}`)),
      onpointerleave: tipHide,
    });
    node.style.left = `${(100 * (wait.start - span.start)) / span.duration}%`;
    node.style.width = `${(100 * wait.duration) / span.duration}%`;
    node.style.background = stateColor(state);
    return node;
  }
}

// Returns where a value lies among edges, in bars.
function spansPosition(edges, ns) {
  const above = edges.findIndex((edge) => edge > ns);
  if (above <= 0) return above < 0 ? edges.length - 1 : 0;
  return above - 1 + (ns - edges[above - 1]) / (edges[above] - edges[above - 1]);
}
