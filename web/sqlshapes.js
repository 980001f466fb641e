// SPDX-License-Identifier: GPL-2.0-or-later
// What the result of a query can be shown as: a flame graph where it has a stack and a number, a chart where it has a time.

import { formatCount, formatMoment } from './format.js';
import { timelineInk } from './timeline.js';

const NUMBERS =
  /^(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT|UTINYINT|USMALLINT|UINTEGER|UBIGINT|UHUGEINT|FLOAT|DOUBLE|DECIMAL|NUMBER)/i;
const TIMES = /^(timestamp|time|start|at|moment|second|bucket|ts)(_ns|_us|_ms|_s)?$/i;
const CHART_INKS = ['--lane-offcpu', '--lane-cpu', '--lane-files', '--lane-spans', '--lane-rss', '--lane-disk'];

export function sqlIsNumber(column) {
  return NUMBERS.test(column.type);
}

function sqlIsTime(column) {
  return /^(TIMESTAMP|DATE|TIME)/i.test(column.type) || (sqlIsNumber(column) && TIMES.test(column.name));
}

function sqlStackColumn({ columns, rows }) {
  return columns.findIndex((_, i) =>
    rows.some((row) => Array.isArray(row[i]) && row[i].every((f) => typeof f === 'string')),
  );
}

// Returns the columns that a frame's width may be, the likeliest first: the last of those that are no count and no share, as in
// queries for pprof (stack, count, value).
export function sqlValueColumns({ columns }) {
  const numbers = columns
    .map((_, i) => i)
    .filter((i) => sqlIsNumber(columns[i]) && !sqlIsTime(columns[i]))
    .reverse();
  const isLikely = (i) => !/count|rows|intervals|%|share/i.test(columns[i].name);
  return [...numbers.filter(isLikely), ...numbers.filter((i) => !isLikely(i))];
}

export function sqlShapes(answer) {
  const value = sqlValueColumns(answer).length;
  const time = answer.columns.findIndex(sqlIsTime);
  return [
    'table',
    ...(answer.rows.length && value && sqlStackColumn(answer) >= 0 ? ['flame'] : []),
    ...(answer.rows.length > 1 && value && time >= 0 ? ['chart'] : []),
  ];
}

// Returns a flame answer of rows with a stack (leaf first) and a number.
export function sqlFlameAnswer(answer, value) {
  const stack = sqlStackColumn(answer);
  const names = ['all'];
  const ids = new Map([['all', 0]]);
  const nodes = { name: [0], module: [0], parent: [-1], self: [0], total: [0], kind: [3] };
  const children = new Map();
  for (const row of answer.rows) {
    const amount = Number(row[value]) || 0;
    let at = 0;
    nodes.total[0] += amount;
    for (const name of (row[stack] ?? []).slice().reverse()) {
      if (!ids.has(name)) ids.set(name, names.push(name) - 1);
      const key = `${at} ${ids.get(name)}`;
      if (!children.has(key)) children.set(key, sqlAddNode(nodes, ids.get(name), at));
      at = children.get(key);
      nodes.total[at] += amount;
    }
    nodes.self[at] += amount;
  }
  return {
    unit: sqlUnit(answer.columns[value].name),
    total: nodes.total[0],
    states: null,
    names,
    modules: [''],
    nodes,
  };
}

function sqlAddNode(nodes, name, parent) {
  nodes.module.push(0);
  nodes.parent.push(parent);
  nodes.self.push(0);
  nodes.total.push(0);
  nodes.kind.push(0);
  return nodes.name.push(name) - 1;
}

function sqlUnit(name) {
  return /(_ns|nanoseconds|duration)$/i.test(name) ? 'ns' : /bytes$/i.test(name) ? 'bytes' : 'count';
}

// Draws a line per number over the first time of the result.
export function sqlChart(answer, node) {
  const { columns } = answer;
  const time = columns.findIndex(sqlIsTime);
  const at = (row) =>
    typeof row[time] === 'number' ? row[time] : Date.parse(`${String(row[time]).replace(' ', 'T')}Z`) / 1000;
  const rows = answer.rows.filter((row) => Number.isFinite(at(row))).sort((a, b) => at(a) - at(b));
  const values = columns
    .map((column, i) => i)
    .filter((i) => i !== time && sqlIsNumber(columns[i]) && !sqlIsTime(columns[i]))
    .slice(0, CHART_INKS.length);
  const calendar = !sqlIsNumber(columns[time]);
  const axis = {
    stroke: timelineInk('--faint'),
    grid: { stroke: timelineInk('--line'), width: 1 },
    ticks: { stroke: timelineInk('--line') },
    font: '11px Inter, system-ui, sans-serif',
  };
  const span = rows.length ? at(rows[rows.length - 1]) - at(rows[0]) : 1;
  return new window.uPlot(
    {
      width: Math.max(200, node.clientWidth),
      height: 320,
      scales: { x: { time: calendar } },
      axes: [
        calendar
          ? axis
          : {
              ...axis,
              values: (u, splits) =>
                splits.map((v) =>
                  /_ns$|^timestamp$/.test(columns[time].name) ? formatMoment(v - at(rows[0]), span) : formatCount(v),
                ),
            },
        { ...axis, size: 60, values: (u, splits) => splits.map(formatCount) },
      ],
      series: [
        { label: columns[time].name },
        ...values.map((i, n) => ({
          label: columns[i].name,
          stroke: timelineInk(CHART_INKS[n]),
          width: 1.5,
          points: { show: rows.length < 100 },
        })),
      ],
    },
    [rows.map(at), ...values.map((i) => rows.map((row) => (row[i] === null ? null : Number(row[i]))))],
    node,
  );
}
