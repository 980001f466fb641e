// SPDX-License-Identifier: GPL-2.0-or-later
// One function: what calls it (above) and what it calls (below).

import { controlHide, controlMerge, controlMetric } from './controls.js';
import { detailsCopy, detailsFunction, detailsShow } from './details.js';
import { button, el, fill, fillControls } from './dom.js';
import { flameParameters, flameTip } from './flame.js';
import { FlameGraph } from './flamegraph.js';
import { modelMake, modelWithoutRoot } from './flamemodel.js';
import { baseName, cleanName, formatShare, formatValue } from './format.js';
import { Loader } from './loader.js';
import { apiGet, apiHas } from './api.js';
import { stateAll, stateSelection, stateSet } from './state.js';

export function sandwichView(page) {
  return new SandwichView(page);
}

class SandwichView {
  constructor(page) {
    this.page = page;
    this.tools = el('div.tools', { role: 'toolbar', 'aria-label': 'Sandwich' });
    this.title = el('h2.function-title');
    this.panel = el('aside.details', { 'aria-label': 'Selected frame' });
    this.halves = { callers: this.half('Callers'), callees: this.half('Callees') };
    this.halves.callers.setFlip(true);
    this.graph = el(
      'div.graph.sandwich',
      {},
      el('div.half', {}, el('h2', {}, 'Callers'), this.halves.callers.host),
      el('div.half', {}, el('h2', {}, 'Callees'), this.halves.callees.host),
    );
    this.node = el(
      'div.view',
      {},
      this.tools,
      el('div.split', {}, el('div.column', {}, this.title, this.graph), this.panel),
    );
    this.loader = new Loader(this.graph);
    this.keys = {
      c: () => this.active && detailsCopy(this.active.model, this.active.selected),
      s: () => this.active && this.choose(this.active.model, this.active.selected),
      o: () => stateSet({ view: 'source' }),
      Escape: () => this.active?.zoomOut(),
      Backspace: () => this.active?.zoomOut(),
    };
    document.addEventListener('theme', () => Object.values(this.halves).forEach((half) => half.recolor()));
  }

  half(label) {
    const flame = new FlameGraph(label, {
      select: (node) => this.select(flame, node),
      zoom: () => {},
      tip: (node, event) => flameTip(flame.model, node, event),
    });
    return flame;
  }

  select(flame, node) {
    this.active = flame;
    detailsShow(this.panel, flame.model, node, (other) => flame.moveTo(other));
  }

  choose(model, node) {
    if (node >= 0) stateSet({ ...detailsFunction(model, node), zoom: '' });
  }

  update() {
    const { fn, module } = stateAll();
    fillControls(this.tools, el('div.tools-set', {}, controlMetric(this.page), controlMerge(), controlHide(this.page.metric().id)));
    fill(
      this.title,
      cleanName(fn, 300),
      module ? el('span.faint', {}, baseName(module)) : null,
      fn && apiHas('source') ? button('Source', () => stateSet({ view: 'source' }), { class: 'quiet' }) : null,
    );
    if (!fn) return this.suggest();
    const { root, ...parameters } = flameParameters(this.page);
    this.loader.get('sandwich', { ...parameters, name: fn, module }, (answer) => this.show(answer));
  }

  // Without a function: the ones with the largest share are offered.
  suggest() {
    this.loader.run(
      `suggest ${JSON.stringify(stateSelection())} ${this.page.metric().id}`,
      (signal) => apiGet('functions', { metric: this.page.metric().id, limit: 12, ...stateSelection() }, signal),
      (answer) => {
        this.loader.showNote(
          'Choose a function',
          'Select a frame in the flame graph and press s, or take one of these:',
        );
        this.loader.cover.firstElementChild.append(
          el(
            'div.suggestions',
            {},
            answer.rows
              .slice(0, 12)
              .map((row) =>
                button(`${cleanName(row.name, 60)}  ${formatShare(row.self, answer.total)}`, () =>
                  stateSet({ fn: row.name, module: row.module }),
                ),
              ),
          ),
        );
      },
    );
  }

  show(answer) {
    const { callers, callees } = this.halves;
    callers.setModel(modelMake(modelWithoutRoot(answer.callers)));
    callees.setModel(modelMake(modelWithoutRoot(answer.callees)));
    for (const half of [callers, callees]) half.host.parentNode.style.flexGrow = half.model.rows.length + 1;
    this.active = null;
    detailsShow(this.panel, null, -1);
    if (!callees.model.width[0])
      return this.loader.showNote('Nothing here', 'The function is on no stack of what is selected.');
    this.title.append(el('span.faint', {}, formatValue(callees.model.sum, callees.model.unit)));
  }
}
