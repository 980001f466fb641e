// SPDX-License-Identifier: GPL-2.0-or-later
// The lines of one function, or its instructions, with their cost.

import { controlMetric } from './controls.js';
import { button, el, fill, fillControls } from './dom.js';
import { baseName, cleanName, formatShare, formatValue } from './format.js';
import { Loader } from './loader.js';
import { stateAll, stateSelection, stateSet } from './state.js';

const LINE_CHARS = 1000;

export function sourceView(page) {
  return new SourceView(page);
}

class SourceView {
  constructor(page) {
    this.page = page;
    this.tools = el('div.tools', { role: 'toolbar', 'aria-label': 'Source' });
    this.title = el('h2.function-title');
    this.lines = el('div.source', { tabIndex: 0, role: 'region', 'aria-label': 'Source lines' });
    this.holder = el('div.holder', {}, this.lines);
    this.node = el('div.view', {}, this.tools, this.title, this.holder);
    this.loader = new Loader(this.holder);
    this.keys = { s: () => stateSet({ view: 'sandwich' }) };
  }

  update() {
    const { fn, module } = stateAll();
    fillControls(this.tools, el('div.tools-set', {}, controlMetric(this.page)));
    fill(
      this.title,
      cleanName(fn, 300),
      module ? el('span.faint', {}, baseName(module)) : null,
      fn ? button('Callers and callees', () => stateSet({ view: 'sandwich' }), { class: 'quiet' }) : null,
    );
    if (!fn) {
      this.loader.forget();
      return this.loader.showNote(
        'Choose a function',
        'Select a frame in the flame graph, or a row of the functions, and press o.',
      );
    }
    this.loader.get('source', { name: fn, module, metric: this.page.metric().id, ...stateSelection() }, (answer) =>
      this.show(answer),
    );
  }

  show(answer) {
    const { unit } = this.page.metric();
    const all = Math.max(
      1,
      answer.lines.reduce((sum, line) => sum + line.self, 0),
    );
    const most = Math.max(1, ...answer.lines.map((line) => line.total));
    fill(
      this.lines,
      answer.file || answer.note
        ? el(
            'p.source-note',
            { class: answer.kind === 'source' && answer.note ? 'warn' : 'faint' },
            [answer.file, answer.note]
              .filter(Boolean)
              .map((text) => cleanName(text))
              .join(' · '),
          )
        : null,
      el(
        'table',
        {},
        el(
          'thead',
          {},
          el(
            'tr',
            {},
            ['Self', '%', 'Total', answer.kind === 'disassembly' ? 'Offset' : 'Line', 'Code'].map((head) =>
              el('th', {}, head),
            ),
          ),
        ),
        el(
          'tbody',
          {},
          answer.lines.map((line) => this.line(line, { unit, all, most })),
        ),
      ),
    );
    if (answer.kind === 'none' || !answer.lines.length)
      return this.loader.showNote(
        'No source and no instructions',
        answer.note || 'The file is not on this machine, or it has no debug information and objdump is not installed.',
      );
    this.lines.querySelector('.hot')?.scrollIntoView({ block: 'center' });
  }

  line(line, { unit, all, most }) {
    const row = el(
      'tr',
      { class: line.total === most ? 'hot' : '' },
      el('td.number', {}, line.self ? formatValue(line.self, unit) : ''),
      el('td.number', {}, line.self ? formatShare(line.self, all) : ''),
      el('td.number.cost', {}, line.total ? formatValue(line.total, unit) : ''),
      el('td.number.faint', {}, String(line.n)),
      el('td.code', {}, cleanName(line.text.replaceAll('\t', '        '), LINE_CHARS)),
    );
    row.style.setProperty('--part', String(line.total / most));
    return row;
  }
}
