// SPDX-License-Identifier: GPL-2.0-or-later
// The view of one flame graph.

import { isReport } from './api.js';
import {
  controlHide,
  controlInvert,
  controlLayout,
  controlMerge,
  controlMetric,
  controlRoot,
  controlSearch,
  hideParameter,
} from './controls.js';
import { KIND_NAMES, kindColor, stateColor, stateLabel } from './colors.js';
import { detailsCopy, detailsFunction, detailsP, detailsShow, detailsSigned } from './details.js';
import { choice, el, fill, fillControls } from './dom.js';
import { FlameGraph } from './flamegraph.js';
import {
  modelFind,
  modelId,
  modelInvert,
  modelMake,
  modelModule,
  modelName,
  modelPath,
  modelSearch,
} from './flamemodel.js';
import { cleanName, formatExact, formatShare, formatValue } from './format.js';
import { Loader } from './loader.js';
import { stateAll, stateGet, stateSelection, stateSet } from './state.js';
import { tipHide, tipShow } from './tip.js';

const TIP_CHARS = 400;

export function flameView(page) {
  return new FlameView(page);
}

// Returns the parameters of a flame graph, without those that are the server's defaults.
export function flameParameters(page) {
  const { merge, root } = stateAll();
  return {
    metric: page.metric().id,
    merge: merge === 'function' ? '' : merge,
    hide: hideParameter(page.metric().id),
    root: root === 'none' ? '' : root,
    ...stateSelection(),
  };
}

export function flameTip(model, node, event) {
  if (!model || node < 0 || !event) return tipHide();
  const module = modelModule(model, node);
  tipShow(
    event,
    el('b', {}, cleanName(modelName(model, node), TIP_CHARS)),
    module ? el('span.faint', {}, cleanName(module, 200)) : null,
    ...(model.a ? flameTipChange(model, node) : flameTipNumbers(model, node)),
  );
}

function flameTipNumbers(model, node) {
  return [
    el('span', {}, `${formatValue(model.total[node], model.unit)} · ${formatShare(model.width[node], model.width[0])}`),
    model.self[node]
      ? el(
          'span',
          {},
          `self ${formatValue(model.self[node], model.unit)} · ${formatShare(Math.max(0, model.self[node]), model.width[0])}`,
        )
      : null,
  ];
}

function flameTipChange(model, node) {
  return [
    el('span', {}, `A ${formatValue(model.a[node], model.unit)} · B ${formatValue(model.b[node], model.unit)}`),
    el(
      'span',
      {},
      `${detailsSigned(model.b[node] - model.a[node], model.unit)} · p ${detailsP(model.p?.[node])}${model.significant[node] ? '' : ' · not significant'}`,
    ),
  ];
}

class FlameView {
  constructor(page) {
    this.page = page;
    this.flame = new FlameGraph('Flame graph', {
      select: (node) => this.select(node),
      zoom: (node) => this.zoomed(node),
      tip: (node, event) => flameTip(this.model, node, event),
    });
    this.search = controlSearch((step) => {
      this.flame.nextMatch(step);
    });
    this.tools = el('div.tools', { role: 'toolbar', 'aria-label': 'Flame graph' });
    this.trail = el('nav.trail', { 'aria-label': 'Zoom' });
    this.legend = el('div.legends');
    this.panel = el('aside.details', { 'aria-label': 'Selected frame' });
    this.graph = el('div.graph', {}, this.flame.host);
    this.node = el(
      'div.view.flame-view',
      {},
      this.tools,
      el('div.split', {}, el('div.column', {}, this.trail, this.graph, this.legend), this.panel),
    );
    this.loader = new Loader(this.graph);
    this.keys = {
      c: () => this.model && this.flame.selected >= 0 && detailsCopy(this.model, this.flame.selected),
      s: () => this.goTo('sandwich'),
      o: () => this.goTo('source'),
      Escape: () => this.flame.zoomOut(),
      Backspace: () => this.flame.zoomOut(),
      n: () => this.flame.nextMatch(1),
      N: () => this.flame.nextMatch(-1),
    };
    document.addEventListener('theme', () => this.recolor());
  }

  goTo(view) {
    if (this.model && this.flame.selected > 0)
      stateSet({ view, ...detailsFunction(this.model, this.flame.selected), zoom: '' });
  }

  update() {
    this.showTools();
    this.flame.setFlip(stateGet('layout') === 'flame');
    this.loader.get('flame', flameParameters(this.page), (answer) => this.show(answer));
    this.follow();
  }

  showTools() {
    // The search field keeps its place and its focus.
    if (!this.search.node.isConnected) fill(this.tools, el('div.tools-set'), this.search.node);
    fillControls(
      this.tools.firstElementChild,
      controlMetric(this.page),
      controlLayout(),
      controlInvert(),
      controlRoot(this.page.metric().id),
      isReport ? null : [controlMerge(), controlHide(this.page.metric().id)],
    );
  }

  way() {
    const way = stateGet('color');
    if (this.page.metric().id === 'wall') return way === 'kind' ? 'state' : way;
    return way === 'state' ? 'kind' : way;
  }

  // Shows another answer. A frame that both have stays selected, and where it was.
  show(answer) {
    const selected = this.model && this.flame.selected > 0 ? modelId(this.model, this.flame.selected) : '';
    const { scrollTop } = this.flame.host;
    this.answer = answer;
    this.inverted = stateGet('invert');
    this.model = modelMake(this.inverted ? modelInvert(answer) : answer);
    this.flame.way = this.way();
    this.flame.setModel(this.model);
    if (!this.model.width[0]) this.showNothing();
    this.follow();
    this.flame.host.scrollTop = scrollTop;
    this.select(modelFind(this.model, selected) || -1);
  }

  showNothing() {
    const what = this.page.metric().label.toLowerCase();
    this.loader.showNote('Nothing here', `No ${what} in what is selected. Select a longer range, or other processes.`);
  }

  // Brings the graph to what the URL says.
  follow() {
    if (this.answer && this.inverted !== stateGet('invert')) return this.show(this.answer);
    const { model } = this;
    if (!model || this.loader.panel.getAttribute('aria-busy')) return this.search.show(null);
    const zoomed = modelFind(model, stateGet('zoom'));
    if (zoomed !== this.flame.zoomed) this.flame.zoom(zoomed, true);
    const text = stateGet('search');
    const result = text ? modelSearch(model, text) : null;
    this.flame.setMatches(result?.matched ?? null);
    this.search.show(result);
    if (this.flame.way !== this.way()) this.recolor();
    this.showTrail();
    this.showLegend();
  }

  recolor() {
    this.flame.recolor(this.way());
    this.showLegend();
    if (this.model) this.select(this.flame.selected);
  }

  select(node) {
    if (this.flame.selected !== node) this.flame.selected = node;
    detailsShow(this.panel, this.model, node, (other) => {
      this.flame.moveTo(other);
    });
  }

  zoomed(node) {
    stateSet({ zoom: modelId(this.model, node) });
  }

  // The way from the root to what is zoomed, each step a button.
  showTrail() {
    const path = [0, ...modelPath(this.model, this.flame.zoomed)];
    const shown = path.length > 6 ? [path[0], -1, ...path.slice(-4)] : path;
    fill(
      this.trail,
      shown.map((node) =>
        node < 0
          ? el('span.faint', {}, '…')
          : el(
              'button.crumb',
              {
                type: 'button',
                'aria-current': node === this.flame.zoomed ? 'true' : null,
                onclick: () => {
                  this.flame.select(node);
                  this.flame.zoom(node);
                },
              },
              cleanName(modelName(this.model, node), 60),
            ),
      ),
      el('span.spring'),
      el(
        'span.faint',
        {},
        `${formatValue(this.model.sum, this.model.unit)} · ${formatExact(this.model.count - 1)} frames`,
      ),
    );
  }

  showLegend() {
    if (!this.model) return;
    const states = this.page.metric().id === 'wall';
    const ways = [['kind', 'kind'], ['module', 'module'], ...(states ? [['state', 'state']] : [])];
    fillControls(
      this.legend,
      choice('Colour', ways, this.way(), (color) => stateSet({ color })),
      this.legendMarks().map(([color, text]) => flameMark(color, text)),
    );
  }

  // Returns [colour, text] of what the graph's colours mean.
  legendMarks() {
    if (this.way() === 'state') {
      return this.model.states.map((state) => [stateColor(state), stateLabel(state)]);
    }
    if (this.way() === 'module') return [];
    return [...new Set(this.model.kind)].sort().map((kind) => [kindColor(kind), KIND_NAMES[kind]]);
  }
}

function flameMark(color, text) {
  const dot = el('span.dot');
  dot.style.background = color;
  return el('span.legend', {}, dot, text);
}
