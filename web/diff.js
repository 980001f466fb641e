// SPDX-License-Identifier: GPL-2.0-or-later
// Two ranges, or two recordings: what changed from A to B, and what of it is significant.

import { controlHide, controlLayout, controlMerge, controlMetric, controlSearch } from './controls.js';
import { detailsCopy, detailsFunction, detailsP, detailsShow, detailsSigned } from './details.js';
import { button, el, fill, fillControls, segments } from './dom.js';
import { flameTip } from './flame.js';
import { FlameGraph } from './flamegraph.js';
import { modelMake, modelModule, modelName, modelSearch } from './flamemodel.js';
import { baseName, cleanName, formatMoment, formatShare, formatTime, formatValue } from './format.js';
import { Loader } from './loader.js';
import { SELECTION, stateAll, stateGet, stateSet } from './state.js';
import { Table } from './table.js';

// A callee with this part of its caller's change explains it.
const EXPLAINS = 0.9;

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
    this.table = new Table('Largest changes', this.columns(), { pick: (row) => this.flame.moveTo(row.node) });
    this.graph = el('div.graph', {}, this.flame.host);
    this.node = el(
      'div.view',
      {},
      this.tools,
      this.sides,
      el('div.split', {}, el('div.column', {}, this.graph, el('div.diff-table', {}, this.table.node)), this.panel),
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
      { id: 'share', label: '%', number: true, show: (r) => (r.a ? formatShare(r.change, r.a) : 'new') },
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
      controlHide(),
      segments(
        'Normalise by',
        [
          ['time', 'per time'],
          ['spans', 'per span'],
        ].slice(0, this.page.recording.spans.length ? 2 : 1),
        state.normalise,
        (normalise) => stateSet({ normalise }),
      ),
    );
    this.showSides(state);
    if (!(state.afrom || state.ato) || !(state.bfrom || state.bto)) if (!state.other) return this.explain();
    this.loader.get('diff', this.parameters(state), (answer) => this.show(answer));
    this.showMatches();
  }

  parameters(state) {
    const { merge, hide, normalise, afrom, ato, bfrom, bto, other } = state;
    const filters = Object.fromEntries(
      SELECTION.filter((key) => key !== 'from' && key !== 'to' && state[key]).map((key) => [key, state[key]]),
    );
    return {
      metric: this.page.metric().id,
      merge: merge === 'function' ? '' : merge,
      hide,
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
    this.model = null;
    this.table.show([]);
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

  show(answer) {
    this.model = modelMake(answer);
    this.unit = answer.unit;
    this.flame.setModel(this.model);
    this.table.sortId = null;
    this.table.show(this.changes());
    this.select(-1);
    if (!this.model.width[0]) this.loader.showNote('Nothing to compare', 'Neither range has such an event.');
    this.showMatches();
  }

  // Functions with a significant change, the largest first. Of a function with several nodes the one that changed most counts.
  // A caller is left out if its change is that of one callee: the callee says it.
  changes() {
    const { model } = this;
    const best = new Map();
    for (let i = 1; i < model.count; i++) {
      const change = model.b[i] - model.a[i];
      if (!model.significant[i] || this.calleeExplains(i, change)) continue;
      const key = `${model.name[i]} ${model.module[i]}`;
      if (!best.has(key) || Math.abs(change) > Math.abs(best.get(key).change)) {
        best.set(key, {
          node: i,
          change,
          a: model.a[i],
          b: model.b[i],
          lo: model.lo?.[i],
          hi: model.hi?.[i],
          p: model.p?.[i],
          name: modelName(model, i),
          module: modelModule(model, i),
        });
      }
    }
    return [...best.values()].sort((x, y) => Math.abs(y.change) - Math.abs(x.change));
  }

  calleeExplains(node, change) {
    const { model } = this;
    for (let c = model.first[node]; c < model.first[node + 1]; c++) {
      const callee = model.children[c];
      if (model.significant[callee] && (model.b[callee] - model.a[callee]) / change > EXPLAINS) return true;
    }
    return false;
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
