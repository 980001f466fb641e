// SPDX-License-Identifier: GPL-2.0-or-later
// An editor for SQL with the shipped queries. A result is a table, and where it fits a flame graph or a chart.

import { apiGet, apiPost } from './api.js';
import { detailsShow } from './details.js';
import { button, choice, el, fill, fillControls, onResize, segments } from './dom.js';
import { flameTip } from './flame.js';
import { FlameGraph } from './flamegraph.js';
import { modelMake } from './flamemodel.js';
import { cleanName, formatExact, formatTime } from './format.js';
import { Loader } from './loader.js';
import { SqlCode } from './sqlcode.js';
import { sqlChart, sqlFlameAnswer, sqlIsNumber, sqlShapes, sqlValueColumns } from './sqlshapes.js';
import { stateGet, stateSelection, stateSet } from './state.js';
import { Table } from './table.js';

const SQL_ROWS = 10000;
const FIRST = 'SELECT command, kind, count(*) AS rows\nFROM events\nGROUP BY ALL\nORDER BY rows DESC';
const OWN = 'your query';
const FILTERS = {
  command: 'process',
  from: 'time range',
  to: 'time range',
  tgid: 'PID',
  pid: 'TID',
  thread: 'thread',
  span: 'span',
  cgroup: 'cgroup',
  host: 'host',
};

export function sqlView() {
  return new SqlView();
}

class SqlView {
  constructor() {
    this.queries = [];
    this.picker = el('div.tools-set');
    this.about = el('pre.about', { tabIndex: 0, 'aria-label': 'What the query answers', role: 'region' });
    this.parameters = el('div.parameters');
    this.unused = el('p.sql-unused', { role: 'status' });
    this.code = new SqlCode(sqlKept() ?? FIRST, { change: () => sqlKeep(this.code.text), run: () => this.run() });
    this.runButton = button('Run', () => this.run(), { class: 'primary', title: 'Ctrl Enter' });
    this.facts = el('span.faint');
    this.shapes = el('span');
    this.values = el('span');
    this.result = el('div.slot');
    this.holder = el('div.holder', {}, this.result);
    this.panel = el('aside.details', { 'aria-label': 'Selected frame', hidden: true });
    this.node = el(
      'div.view.sql',
      {},
      el(
        'div.tools',
        { role: 'toolbar', 'aria-label': 'SQL' },
        this.picker,
        this.parameters,
        el('span.spring'),
        this.runButton,
      ),
      this.unused,
      el('div.sql-input', {}, this.code.node, this.about),
      el('div.tools.sql-facts', {}, this.shapes, this.values, this.facts),
      el('div.split', {}, this.holder, this.panel),
    );
    this.loader = new Loader(this.holder);
    this.listQueries();
  }

  async listQueries() {
    const { queries } = await apiGet('queries').catch(() => ({ queries: [] }));
    this.queries = queries;
    this.update();
  }

  update() {
    const name = stateGet('query');
    fillControls(
      this.picker,
      choice('Query', [['', OWN], ...this.queries.map((q) => [q.name, q.name])], name, (query) => stateSet({ query })),
    );
    const query = this.queries.find((q) => q.name === name);
    fill(
      this.parameters,
      (query?.parameters ?? []).map((p) =>
        el(
          'label.choice',
          {},
          el('span.choice-label', {}, `?${p}`),
          el('input', {
            name: p,
            placeholder: 'all',
            'aria-label': `Parameter ${p}`,
            value: p === 'command' ? stateGet('command') : '',
          }),
        ),
      ),
    );
    this.about.textContent = query
      ? sqlHead(query.head)
      : 'Tables: events, stacktraces, stacks, offcpu, wakeups, rss, span_waits. Ctrl Enter runs. A query only reads.';
    this.unused.textContent = sqlUnused(query?.parameters ?? []);
    if (query && this.loadedName !== name) {
      this.forgetResult();
      this.load(name);
    }
    if (query || !name) this.loadedName = name;
  }

  async load(name) {
    this.code.node.setAttribute('aria-busy', 'true');
    const { sql } = await apiGet('query', { name }).catch((error) => ({ sql: `-- ${error.message}` }));
    this.code.node.removeAttribute('aria-busy');
    if (stateGet('query') === name) this.code.text = sql;
  }

  // The result and the error of an earlier query say nothing about this one.
  forgetResult() {
    this.loader.stop();
    this.loader.clear();
    this.panel.hidden = true;
    this.facts.textContent = '';
    for (const node of [this.result, this.shapes, this.values]) fill(node);
  }

  run() {
    const parameters = Object.fromEntries(
      [...this.parameters.querySelectorAll('input')].filter((i) => i.value).map((i) => [i.name, i.value]),
    );
    this.loader.forget();
    fill(this.shapes);
    this.facts.textContent = '';
    this.loader.run(
      'sql',
      (signal) => apiPost('sql', { sql: this.code.text, parameters, limit: SQL_ROWS }, signal),
      (answer) => this.show(answer),
    );
  }

  show(answer) {
    this.answer = answer;
    const rows = answer.rows.length === 1 ? 'row' : 'rows';
    this.facts.textContent = `${formatExact(answer.rows.length)}${answer.truncated ? ' first' : ''} ${rows} · ${formatTime(answer.ms * 1e6)}`;
    this.possible = sqlShapes(answer);
    this.showAs(this.possible.includes(this.shape) ? this.shape : 'table');
    if (!answer.rows.length) this.loader.showNote('No rows', 'The query ran well and found nothing.');
  }

  showAs(shape) {
    this.shape = shape;
    const labels = { table: 'Table', flame: 'Flame graph', chart: 'Chart' };
    fill(
      this.shapes,
      this.possible.length > 1
        ? segments(
            'Show as',
            this.possible.map((s) => [s, labels[s]]),
            shape,
            (s) => this.showAs(s),
          )
        : null,
    );
    this.panel.hidden = shape !== 'flame';
    fill(this.values);
    ({ table: () => this.showTable(), flame: () => this.showFlame(), chart: () => this.showChart() })[shape]();
  }

  showTable() {
    const columns = this.answer.columns.map((column, i) => ({
      id: String(i),
      label: cleanName(column.name, 60),
      number: sqlIsNumber(column),
      title: cleanName(column.type, 100),
      show: (row) => sqlCell(row[i]),
      value: (row) => (Array.isArray(row[i]) ? row[i].join(';') : row[i]),
    }));
    const table = new Table('Result', columns);
    fill(this.result, table.node);
    table.show(this.answer.rows);
  }

  showFlame(value = sqlValueColumns(this.answer)[0]) {
    const flame = new FlameGraph('Result as a flame graph', {
      select: (node) => detailsShow(this.panel, flame.model, node, (other) => flame.moveTo(other)),
      zoom: () => {},
      tip: (node, event) => flameTip(flame.model, node, event),
    });
    const values = sqlValueColumns(this.answer).map((i) => [String(i), cleanName(this.answer.columns[i].name, 40)]);
    fill(
      this.values,
      values.length > 1 ? choice('Width', values, String(value), (i) => this.showFlame(Number(i))) : null,
    );
    fill(this.result, el('div.graph', {}, flame.host));
    flame.setModel(modelMake(sqlFlameAnswer(this.answer, value)));
    detailsShow(this.panel, null, -1);
  }

  showChart() {
    const node = el('div.chart.sql-chart');
    fill(this.result, node);
    const plot = sqlChart(this.answer, node);
    onResize(node, () => plot.setSize({ width: node.clientWidth, height: plot.height }));
  }
}

// Returns a sentence on the filters that the query has no parameter for: the page fills in parameters, and nothing else.
function sqlUnused(parameters) {
  const chosen = Object.keys(stateSelection()).filter((key) => !parameters.includes(key));
  const names = [...new Set(chosen.map((key) => FILTERS[key]))];
  return names.length ? `Not applied to this query: the chosen ${names.join(', ')}.` : '';
}

// The head comment of a query: its lines run on, but for those that are indented.
function sqlHead(text) {
  const lines = text.slice(0, 5000).split('\n');
  return lines
    .map((line, i) => cleanName(line) + (/^ /.test(line) || /^ /.test(lines[i + 1] ?? '') ? '\n' : ' '))
    .join('')
    .trim();
}

function sqlCell(value) {
  if (value === null) return el('span.faint', {}, 'null');
  if (Array.isArray(value))
    return el(
      'span',
      {
        title: value
          .slice(0, 60)
          .map((v) => cleanName(v, 200))
          .join('\n'),
      },
      value
        .slice(0, 6)
        .map((v) => cleanName(v, 60))
        .join(' ‹ ') + (value.length > 6 ? ' …' : ''),
    );
  return cleanName(typeof value === 'object' ? JSON.stringify(value) : value, 300);
}

// The text of one's own query stays while the page is open.
function sqlKept() {
  try {
    return sessionStorage.getItem('sql');
  } catch {
    return null;
  }
}

function sqlKeep(text) {
  try {
    sessionStorage.setItem('sql', text.slice(0, 100000));
  } catch {
    /* a page without storage forgets it */
  }
}
