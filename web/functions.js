// SPDX-License-Identifier: GPL-2.0-or-later
// The table of functions: the numbers of `stacksexport top` for what is selected.

import { apiHas, isReport } from './api.js';
import { controlHideWaits, controlMetric, hideWaitsParameter } from './controls.js';
import { button, el, fill, fillControls, segments } from './dom.js';
import { cleanName, formatCount, formatExact, formatShare, formatValue } from './format.js';
import { modelPattern } from './flamemodel.js';
import { Loader } from './loader.js';
import { stateAll, stateGet, stateSelection, stateSet } from './state.js';
import { Table } from './table.js';

const FUNCTIONS_ROWS = 500;

export function functionsView(page) {
  return new FunctionsView(page);
}

class FunctionsView {
  constructor(page) {
    this.page = page;
    this.answer = { unit: 'ns', total: 0, rows: [] };
    this.tools = el('div.tools', { role: 'toolbar', 'aria-label': 'Functions' });
    this.input = el('input.search', {
      type: 'search',
      placeholder: 'Filter (regular expression)',
      'aria-label': 'Filter functions',
      spellcheck: false,
      oninput: () => stateSet({ search: this.input.value }, true),
    });
    this.sum = el('span.faint');
    this.table = new Table('Functions', this.columns(), {
      sort: isReport ? null : (sort) => this.sort(sort),
      pick: (row) => this.pick(row),
    });
    this.actions = el('div.actions');
    this.holder = el('div.holder', {}, this.table.node);
    this.node = el('div.view', {}, this.tools, this.holder, this.actions);
    this.loader = new Loader(this.holder);
    this.keys = { s: () => this.picked && this.go('sandwich'), o: () => this.picked && this.go('source') };
    fill(this.tools, el('div.tools-set'), this.input, this.sum);
  }

  columns() {
    const share = (key) => (row) => formatShare(row[key], this.answer.total);
    const value = (key) => (row) =>
      el('span', { title: formatExact(row[key]) }, formatValue(row[key], this.answer.unit));
    return [
      {
        id: 'self',
        label: 'Self',
        number: true,
        show: value('self'),
        value: (r) => r.self,
        bar: (r) => r.self / this.answer.total,
        title: 'with the function on top of the stack',
      },
      { id: 'selfp', label: '%', number: true, show: share('self'), class: 'wide' },
      {
        id: 'total',
        label: 'Total',
        number: true,
        show: value('total'),
        value: (r) => r.total,
        bar: (r) => r.total / this.answer.total,
        title: 'with the function anywhere on the stack',
      },
      { id: 'totalp', label: '%', number: true, show: share('total'), class: 'wide' },
      {
        id: 'samples',
        class: 'wide',
        label: 'Events',
        number: true,
        show: (r) => (r.samples === null ? '–' : formatCount(r.samples)),
        title: 'events that have it on their stack',
      },
      { id: 'name', label: 'Function', show: (r) => cleanName(r.name, 300), class: 'name' },
      { id: 'module', label: 'Module', show: (r) => cleanName(r.module, 120), class: 'module wide' },
    ];
  }

  // The server sorts by self and total, which decides what is among the first rows.
  sort(id) {
    if (id === 'self' || id === 'total') stateSet({ sort: id });
  }

  update() {
    const { by, sort } = stateAll();
    fillControls(
      this.tools.firstElementChild,
      controlMetric(this.page),
      isReport
        ? null
        : segments(
            'By',
            [
              ['function', 'Function'],
              ['module', 'Module'],
              ['line', 'Line'],
            ],
            by,
            (value) => stateSet({ by: value }),
          ),
      isReport ? null : controlHideWaits(this.page.metric().id),
    );
    const parameters = {
      metric: this.page.metric().id,
      by: by === 'function' ? '' : by,
      sort: sort === 'self' ? '' : sort,
      hide: hideWaitsParameter(this.page.metric().id),
      limit: isReport ? '' : FUNCTIONS_ROWS,
      ...stateSelection(),
    };
    this.loader.get('functions', parameters, (answer) => this.show(answer));
    this.filter();
  }

  show(answer) {
    this.answer = answer;
    this.picked = null;
    fill(this.actions);
    if (!answer.rows.length) this.loader.showNote('Nothing here', 'No such event in what is selected.');
    this.filter();
  }

  filter() {
    const text = stateGet('search');
    if (this.input.value !== text) this.input.value = text;
    const { pattern, valid } = modelPattern(text);
    this.input.setAttribute('aria-invalid', String(!valid));
    const rows = text
      ? this.answer.rows.filter((r) => pattern.test(r.name ?? '') || pattern.test(r.module ?? ''))
      : this.answer.rows;
    this.sum.textContent = `${formatExact(rows.length)} of ${formatExact(this.answer.rows.length)} rows · ${formatValue(this.answer.total, this.answer.unit)} in all`;
    if (rows === this.shownRows && !text) return;
    this.shownRows = rows;
    this.table.sortId = stateGet('sort');
    this.table.show(rows);
  }

  pick(row) {
    this.picked = row;
    fill(
      this.actions,
      el('b', {}, cleanName(row.name, 120)),
      apiHas('sandwich') ? button('Callers and callees', () => this.go('sandwich'), { title: 's' }) : null,
      apiHas('source') ? button('Source', () => this.go('source'), { title: 'o' }) : null,
      button('Show in the flame graph', () =>
        stateSet({ view: 'flame', search: `^${row.name.slice(0, 500).replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$` }),
      ),
    );
  }

  go(view) {
    stateSet({ view, fn: this.picked.name, module: this.picked.module });
  }
}
