// SPDX-License-Identifier: GPL-2.0-or-later
// An editor for SQL: a text area, and the same text in colours behind it.

import { el, fill } from './dom.js';

const TOKENS =
  /(--[^\n]*)|('(?:[^']|'')*'?)|\b(\d+(?:\.\d+)?(?:e[+-]?\d+)?)\b|\b(SELECT|FROM|WHERE|GROUP|ORDER|BY|ALL|HAVING|LIMIT|OFFSET|WITH|AS|AND|OR|NOT|NULL|IS|IN|LIKE|BETWEEN|CASE|WHEN|THEN|ELSE|END|JOIN|LEFT|RIGHT|INNER|OUTER|FULL|CROSS|ASOF|ON|USING|UNION|EXCEPT|INTERSECT|DISTINCT|DESC|ASC|OVER|PARTITION|FILTER|QUALIFY|WINDOW|UNNEST|EXCLUDE|REPLACE|NAME|MATERIALIZED|VALUES|TRUE|FALSE|EXISTS|INTERVAL|LATERAL)\b/gi;
const CLASSES = ['comment', 'string', 'constant', 'keyword'];
const COLORED_CHARS = 50000;

export class SqlCode {
  // `on`: { change(), run() }
  constructor(text, on) {
    this.colors = el('pre.editor-colors', { 'aria-hidden': 'true' });
    this.area = el('textarea.editor', {
      'aria-label': 'SQL',
      spellcheck: false,
      autocapitalize: 'off',
      value: text,
      rows: 9,
      oninput: () => {
        this.paint();
        on.change();
      },
      onscroll: () => this.follow(),
      onkeydown: (event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        on.run();
      },
    });
    this.node = el('div.editor-box', {}, this.colors, this.area);
    this.paint();
  }

  get text() {
    return this.area.value;
  }

  set text(text) {
    this.area.value = text;
    this.area.scrollTop = 0;
    this.paint();
  }

  paint() {
    const text = this.area.value;
    const parts = [];
    let end = 0;
    for (const match of text.slice(0, COLORED_CHARS).matchAll(TOKENS)) {
      const kind = CLASSES[match.slice(1).findIndex((group) => group !== undefined)];
      parts.push(text.slice(end, match.index), el(`span.sql-${kind}`, {}, match[0]));
      end = match.index + match[0].length;
    }
    fill(this.colors, parts, `${text.slice(end)}\n`);
    this.follow();
  }

  follow() {
    this.colors.scrollTop = this.area.scrollTop;
    this.colors.scrollLeft = this.area.scrollLeft;
  }
}
