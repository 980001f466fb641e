// SPDX-License-Identifier: GPL-2.0-or-later
// Two ranges, or two recordings: what changed from A to B, and what of it is significant.

import { apiGet } from './api.js';
import { controlHide, controlLayout, controlMerge, controlMetric, controlSearch, hideParameter } from './controls.js';
import { detailsCopy, detailsFunction, detailsP, detailsShow, detailsSigned, detailsSignedShare } from './details.js';
import { button, el, fill, fillControls, segments } from './dom.js';
import { flameTip } from './flame.js';
import { FlameGraph } from './flamegraph.js';
import { modelMake, modelModule, modelName, modelSearch } from './flamemodel.js';
import { baseName, cleanName, formatMoment, formatTime, formatValue } from './format.js';
import { Loader } from './loader.js';
import { SELECTION, stateAll, stateGet, stateSet } from './state.js';
import { Table } from './table.js';

export function diffView(page) {
  return new DiffView(page);
}

class DiffView {
  constructor(page) {
    this.page = page;
    this.tools = el('div.tools', { role: 'toolbar', 'aria-label': 'Difference' });
    this.sides = el('div.sides');
    this.flame = new FlameGraph('Difference as a flame graph', {
      select: (node) => this.select(node),
      zoom: () => {},
      tip: (node, event) => flameTip(this.model, node, event),
    });
    this.search = controlSearch((step) => {
      this.flame.nextMatch(step);
    });
    this.panel = el('aside.details', { 'aria-label': 'Selected frame' });
    this.table = new Table('Largest changes', this.columns(), { pick: (row) => this.moveTo(row) });
    this.none = el('p.diff-none.faint');
    this.graph = el('div.graph', {}, this.flame.host);
    this.node = el(
      'div.view',
      {},
      this.tools,
      this.sides,
      el('div.split', {}, el('div.column', {}, this.graph, el('div.diff-table', {}, this.table.node, this.none)), this.panel),
    );
    this.loader = new Loader(this.graph, () => this.forget());
    this.keys = {
      c: () => this.model && this.flame.selected >= 0 && detailsCopy(this.model, this.flame.selected),
      s: () =>
        this.model &&
        this.flame.selected > 0 &&
        stateSet({ view: 'sandwich', ...detailsFunction(this.model, this.flame.selected) }),
      Escape: () => this.flame.zoomOut(),
      Backspace: () => this.flame.zoomOut(),
      n: () => this.flame.nextMatch(1),
      N: () => this.flame.nextMatch(-1),
    };
    document.addEventListener('theme', () => this.flame.recolor());
  }

  columns() {
    const value = (key, label) => ({
      class: 'wide',
      id: key,
      label,
      number: true,
      show: (r) => formatValue(r[key], this.unit),
      value: (r) => r[key],
    });
    return [
      {
        id: 'change',
        label: 'Change',
        number: true,
        show: (r) => el('b', { class: r.change > 0 ? 'more' : 'less' }, detailsSigned(r.change, this.unit)),
        value: (r) => r.change,
      },
      { id: 'share', label: '%', number: true, show: (r) => (r.a ? detailsSignedShare(r.change, r.a) : 'new') },
      value('a', 'A'),
      value('b', 'B'),
      {
        id: 'interval',
        class: 'wide',
        label: '95 % interval',
        number: true,
        show: (r) => `${detailsSigned(r.lo, this.unit)} … ${detailsSigned(r.hi, this.unit)}`,
      },
      { id: 'p', label: 'p', number: true, show: (r) => detailsP(r.p), value: (r) => r.p },
      { id: 'name', label: 'Function', show: (r) => cleanName(r.name, 200), value: (r) => r.name, class: 'name' },
      { id: 'module', label: 'Module', show: (r) => baseName(r.module), class: 'module wide' },
    ];
  }

  update() {
    const state = stateAll();
    this.flame.setFlip(state.layout === 'flame');
    if (!this.search.node.isConnected) fill(this.tools, el('div.tools-set'), this.search.node);
    fillControls(
      this.tools.firstElementChild,
      controlMetric(this.page),
      controlLayout(),
      controlMerge(),
      controlHide(this.page.metric().id),
      segments(
        'Normalise by',
        [
          ['time', 'per time'],
          ['spans', 'per span'],
        ].slice(0, this.page.recording.spans.length ? 2 : 1),
        state.normalise,
        (normalise) => stateSet({ normalise }),
      ),
      segments(
        'Values of functions',
        [
          ['self', 'self'],
          ['total', 'total'],
        ],
        state.sort === 'total' ? 'total' : 'self',
        (sort) => stateSet({ sort }),
      ),
    );
    this.showSides(state);
    if (!(state.afrom || state.ato) || !(state.bfrom || state.bto)) if (!state.other) return this.explain();
    this.load(this.parameters(state));
    this.showChanges();
    this.showMatches();
  }

  load(parameters) {
    this.loader.run(
      JSON.stringify(parameters),
      (signal) => Promise.all(['diff', 'changes'].map((path) => apiGet(path, parameters, signal))),
      ([answer, changes]) => this.show(answer, changes),
    );
  }

  parameters(state) {
    const { merge, normalise, afrom, ato, bfrom, bto, other } = state;
    const filters = Object.fromEntries(
      SELECTION.filter((key) => key !== 'from' && key !== 'to' && state[key]).map((key) => [key, state[key]]),
    );
    return {
      metric: this.page.metric().id,
      merge: merge === 'function' ? '' : merge,
      hide: hideParameter(this.page.metric().id),
      normalise,
      afrom,
      ato,
      bfrom,
      bto,
      other,
      ...filters,
    };
  }

  explain() {
    this.loader.stop();
    this.loader.forget();
    this.forget();
    this.loader.showNote(
      'Compare two ranges',
      'Drag a range on the timeline and press a, then another and press b. Or:',
    );
    this.loader.cover.firstElementChild.append(
      el(
        'div.suggestions',
        {},
        button('First half and second half', () => this.halves()),
      ),
    );
    if (this.page.recording.other)
      this.loader.cover
        .querySelector('.suggestions')
        .append(button('The other recording', () => stateSet({ other: '1' })));
  }

  // Shows nothing of an earlier comparison.
  forget() {
    this.model = this.changes = null;
    this.showChanges();
    fill(this.panel);
  }

  halves() {
    const { duration_ns } = this.page.recording;
    const middle = Math.floor(duration_ns / 2);
    stateSet({ afrom: 0, ato: middle, bfrom: middle, bto: duration_ns });
  }

  showSides(state) {
    const side = (name) => {
      const [from, to] = [Number(state[`${name}from`] || 0), Number(state[`${name}to`] || 0)];
      return el(
        `span.side.${name}`,
        {},
        el('b', {}, name.toUpperCase()),
        to > from
          ? `${formatMoment(from, to - from)} – ${formatMoment(to, to - from)} (${formatTime(to - from)})`
          : 'not set',
      );
    };
    const text = state.other
      ? [
          el('span.side.a', {}, el('b', {}, 'A'), 'this recording'),
          el('span.side.b', {}, el('b', {}, 'B'), 'the other recording'),
        ]
      : [side('a'), side('b')];
    fill(
      this.sides,
      text,
      button('Swap', () => stateSet({ afrom: state.bfrom, ato: state.bto, bfrom: state.afrom, bto: state.ato }), {
        class: 'quiet',
      }),
      button('Clear', () => stateSet({ afrom: '', ato: '', bfrom: '', bto: '', other: '' }), { class: 'quiet' }),
      el('span.spring'),
      el('span.legend', {}, el('span.dot.less-dot'), 'less in B'),
      el('span.legend', {}, el('span.dot.more-dot'), 'more in B'),
      el('span.legend', {}, el('span.dot.same-dot'), 'no significant change'),
    );
  }

  show(answer, changes) {
    this.model = modelMake(answer);
    this.unit = answer.unit;
    this.changes = changes;
    this.flame.setModel(this.model);
    this.showChanges();
    this.select(-1);
    if (!this.model.width[0]) this.loader.showNote('Nothing to compare', 'Neither range has such an event.');
    this.showMatches();
  }

  // The functions with a significant change, the largest first.
  showChanges() {
    const by = stateGet('sort') === 'total' ? 'total' : 'self';
    const rows = this.changes?.[by] ?? [];
    this.table.sortId = null;
    this.table.show(
      rows
        .map((row) => ({ ...row, change: row.b - row.a }))
        .sort((x, y) => Math.abs(y.change) - Math.abs(x.change)),
    );
    this.none.textContent = this.changes && !rows.length ? `No function's ${by} value changed significantly.` : '';
  }

  // Goes to the frame of the function that changed most.
  moveTo(row) {
    const { model } = this;
    let best = -1;
    for (let i = 1; i < model.count; i++) {
      const is = modelName(model, i) === row.name && modelModule(model, i) === row.module;
      if (is && (best < 0 || diffSize(model, i) > diffSize(model, best))) best = i;
    }
    if (best >= 0) this.flame.moveTo(best);
  }

  showMatches() {
    if (!this.model) return;
    const text = stateGet('search');
    const result = text ? modelSearch(this.model, text) : null;
    this.flame.setMatches(result?.matched ?? null);
    this.search.show(result);
  }

  select(node) {
    this.flame.selected = node;
    detailsShow(this.panel, this.model, node, (other) => this.flame.moveTo(other));
  }
}

function diffSize(model, node) {
  return Math.abs(model.b[node] - model.a[node]);
}
