// SPDX-License-Identifier: GPL-2.0-or-later
// A table that is sorted by its heads, moved in by keys, and grows while it is scrolled.

import { el, fill } from './dom.js';

const CHUNK = 200;

export class Table {
  // `columns`: [{ id, label, number, show(row) → node or text, value(row) for sorting, bar(row) → 0…1, title }].
  // `on`: { pick(row), sort(id) }: with `sort` the server sorts. `label` is for screen readers.
  constructor(label, columns, on = {}) {
    this.columns = columns;
    this.on = on;
    this.sortId = null;
    this.down = true;
    this.picked = null;
    this.head = el(
      'tr',
      {},
      columns.map((column) => this.headCell(column)),
    );
    this.body = el('tbody');
    this.more = el('div.table-more');
    this.node = el(
      'div.table-scroll',
      { tabIndex: -1 },
      el('table.table', { role: 'grid', 'aria-label': label }, el('thead', {}, this.head), this.body),
      this.more,
    );
    this.body.addEventListener('keydown', (event) => this.key(event));
    new IntersectionObserver((entries) => entries.some((e) => e.isIntersecting) && this.grow()).observe(this.more);
  }

  headCell(column) {
    const sortable = column.value || this.on.sort;
    const cell = el(
      'th',
      { scope: 'col', class: `${column.number ? 'number' : ''} ${column.class ?? ''}`, title: column.title },
      sortable
        ? el(
            'button',
            { type: 'button', onclick: () => this.sortBy(column) },
            column.label,
            el('span.arrow', { 'aria-hidden': 'true' }),
          )
        : column.label,
    );
    column.cell = cell;
    return cell;
  }

  sortBy(column) {
    this.down = this.sortId === column.id ? !this.down : Boolean(column.number);
    this.sortId = column.id;
    if (this.on.sort) this.on.sort(column.id);
    else this.show(this.rows);
  }

  markSort(id, down = true) {
    [this.sortId, this.down] = [id, down];
    for (const column of this.columns) {
      if (column.id === id) column.cell.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      else column.cell.removeAttribute('aria-sort');
    }
  }

  show(rows) {
    this.rows = rows.slice();
    const column = this.columns.find((c) => c.id === this.sortId);
    if (column?.value && !this.on.sort) {
      const sign = this.down ? -1 : 1;
      this.rows.sort((a, b) => sign * tableCompare(column.value(a), column.value(b)));
    }
    this.markSort(this.sortId, this.down);
    fill(this.body);
    this.shown = 0;
    this.grow();
    this.node.scrollTop = 0;
  }

  grow() {
    if (!this.rows || this.shown >= this.rows.length) return;
    const next = this.rows.slice(this.shown, this.shown + CHUNK);
    this.body.append(...next.map((row, i) => this.row(row, this.shown + i)));
    this.shown += next.length;
    this.more.textContent = this.shown < this.rows.length ? `${this.rows.length - this.shown} more rows below` : '';
  }

  row(row, index) {
    const cells = this.columns.map((column) => {
      const cell = el('td', { class: `${column.number ? 'number' : ''} ${column.class ?? ''}` }, column.show(row));
      if (column.bar) {
        cell.classList.add('bar');
        cell.style.setProperty('--part', String(Math.max(0, Math.min(1, column.bar(row) || 0))));
      }
      return cell;
    });
    return el(
      'tr',
      { tabIndex: index ? -1 : 0, onclick: (event) => this.pick(row, event.currentTarget), 'aria-selected': 'false' },
      cells,
    );
  }

  pick(row, node) {
    this.body.querySelector('[aria-selected="true"]')?.setAttribute('aria-selected', 'false');
    node.setAttribute('aria-selected', 'true');
    this.focusRow(node);
    this.on.pick?.(row);
  }

  focusRow(node) {
    this.body.querySelector('tr[tabindex="0"]')?.setAttribute('tabindex', '-1');
    node.tabIndex = 0;
    node.focus({ preventScroll: true });
    node.scrollIntoView({ block: 'nearest' });
  }

  key(event) {
    const node = event.target.closest('tr');
    if (!node || event.target.closest('button, a')) return;
    const step = { ArrowDown: 'nextElementSibling', ArrowUp: 'previousElementSibling' }[event.key];
    if (step && node[step]) this.focusRow(node[step]);
    else if (event.key === 'Enter') this.pick(this.rows[[...this.body.children].indexOf(node)], node);
    else return;
    event.preventDefault();
  }
}

function tableCompare(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b));
}
