// SPDX-License-Identifier: GPL-2.0-or-later
// The panel beside a flame graph: the selected frame, its stack, and what can be done with it.

import { apiHas } from './api.js';
import { KIND_NAMES, kindColor, modelState, stateColor, stateLabel } from './colors.js';
import { button, copyText, el, fill } from './dom.js';
import { baseName, cleanName, formatExact, formatShare, formatValue } from './format.js';
import { modelHeaviest, modelModule, modelName, modelPath } from './flamemodel.js';
import { stateSet } from './state.js';

export function detailsFunction(model, node) {
  return { fn: modelName(model, node), module: modelModule(model, node) };
}

// Returns the stack of a node as text, leaf first, one frame per line.
function detailsStackText(model, node) {
  return modelPath(model, node)
    .reverse()
    .map((i) => {
      const module = modelModule(model, i);
      return `${cleanName(modelName(model, i), 100000)}${module ? ` (${cleanName(module)})` : ''}`;
    })
    .join('\n');
}

export function detailsCopy(model, node) {
  return copyText(detailsStackText(model, node), 'Stack');
}

// Fills the panel for a node; `go(node)` selects another one.
export function detailsShow(panel, model, node, go) {
  if (!model || node < 0) {
    fill(panel, el('p.faint', {}, 'Select a frame: a click zooms, arrow keys move, Enter zooms, Esc goes back.'));
    return;
  }
  fill(
    panel,
    el('h3.details-name', {}, cleanName(modelName(model, node))),
    el(
      'p.details-where',
      {},
      detailsDot(kindColor(model.kind[node])),
      KIND_NAMES[model.kind[node]] ?? '',
      modelModule(model, node) ? ` · ${cleanName(modelModule(model, node))}` : '',
    ),
    model.a ? detailsChange(model, node) : detailsNumbers(model, node),
    model.states ? detailsStates(model, node) : null,
    node ? detailsButtons(model, node) : null,
    detailsList('Stack', modelPath(model, node).reverse().slice(1), model, go),
    detailsList('Heaviest path below', modelHeaviest(model, node), model, go),
    model.dropped.nodes
      ? el('p.faint', {}, `${formatExact(model.dropped.nodes)} narrow frames are part of their callers' own time.`)
      : null,
  );
}

function detailsDot(color) {
  const dot = el('span.dot');
  dot.style.background = color;
  return dot;
}

// The sum of a function over all places: where it is inside of itself, it counts once.
function detailsEverywhere(model, node) {
  const is = (i) => model.name[i] === model.name[node] && model.module[i] === model.module[node];
  const inside = new Uint8Array(model.count);
  let [places, width, total] = [0, 0, 0];
  for (let i = 1; i < model.count; i++) {
    const own = is(i);
    const outer = inside[model.parent[i]];
    inside[i] = own || outer ? 1 : 0;
    places += own ? 1 : 0;
    if (own && !outer) [width, total] = [width + model.width[i], total + model.total[i]];
  }
  return { places, width, total };
}

function detailsNumbers(model, node) {
  const rows = [
    ['Total', model.total[node], model.width[node]],
    ['Self', model.self[node], Math.max(0, model.self[node])],
  ];
  const parent = model.parent[node];
  const all = detailsEverywhere(model, node);
  return el(
    'dl.numbers',
    {},
    rows.map(([label, value, width]) => {
      const bar = el('span.meter');
      bar.style.setProperty('--part', String(model.width[0] ? width / model.width[0] : 0));
      return [
        el('dt', {}, label),
        el(
          'dd',
          {},
          el('b', { title: formatExact(value) }, formatValue(value, model.unit)),
          el('span', {}, formatShare(width, model.width[0])),
          bar,
        ),
      ];
    }),
    parent > 0 ? [el('dt', {}, 'Of caller'), el('dd', {}, formatShare(model.width[node], model.width[parent]))] : null,
    all.places > 1
      ? [
          el('dt', {}, 'Everywhere'),
          el(
            'dd',
            {},
            el('b', {}, formatValue(all.total, model.unit)),
            el('span', {}, `${formatShare(all.width, model.width[0])} in ${all.places} places`),
          ),
        ]
      : null,
  );
}

function detailsChange(model, node) {
  const [a, b] = [model.a[node], model.b[node]];
  const sure = model.significant[node];
  return el(
    'dl.numbers',
    {},
    el('dt', {}, 'A'),
    el('dd', {}, formatValue(a, model.unit)),
    el('dt', {}, 'B'),
    el('dd', {}, formatValue(b, model.unit)),
    el('dt', {}, 'Change'),
    el(
      'dd',
      {},
      el('b', { class: sure ? (b > a ? 'more' : 'less') : '' }, detailsSigned(b - a, model.unit)),
      el('span', {}, a ? detailsSignedShare(b - a, a) : 'new'),
    ),
    model.lo
      ? [
          el('dt', {}, '95 % interval'),
          el('dd', {}, `${detailsSigned(model.lo[node], model.unit)} … ${detailsSigned(model.hi[node], model.unit)}`),
        ]
      : null,
    model.p
      ? [
          el('dt', {}, 'p'),
          el(
            'dd',
            { title: 'compared with all frames of the graph; the table compares functions' },
            `${detailsP(model.p[node])} · ${sure ? 'significant' : 'not significant'}`,
          ),
        ]
      : null,
  );
}

export function detailsP(p) {
  return p === null || p === undefined ? '–' : p < 0.001 ? '< 0.001' : p.toFixed(3);
}

export function detailsSigned(value, unit) {
  return value > 0
    ? `+${formatValue(value, unit)}`
    : value < 0
      ? `−${formatValue(-value, unit)}`
      : formatValue(0, unit);
}

export function detailsSignedShare(change, whole) {
  const share = formatShare(Math.abs(change), whole);
  return change > 0 ? `+${share}` : change < 0 ? `−${share}` : share;
}

function detailsStates(model, node) {
  const count = model.states.length;
  const values = model.states.map((state, s) => [state, model.byState[node * count + s]]);
  const sum = values.reduce((all, [, value]) => all + value, 0);
  return el(
    'div.states',
    { title: `mostly ${stateLabel(model.states[modelState(model, node).state])}` },
    el(
      'div.stacked',
      {},
      values.map(([state, value]) => {
        const part = el('span');
        part.style.width = `${sum ? (100 * value) / sum : 0}%`;
        part.style.background = stateColor(state);
        return part;
      }),
    ),
    values
      .filter(([, value]) => value)
      .map(([state, value]) =>
        el('span.legend', {}, detailsDot(stateColor(state)), `${stateLabel(state)} ${formatShare(value, sum)}`),
      ),
  );
}

function detailsButtons(model, node) {
  const of = detailsFunction(model, node);
  const label = model.kind[node] === 3;
  return el(
    'div.details-buttons',
    {},
    button('Copy stack', () => detailsCopy(model, node), { title: 'c' }),
    !label && apiHas('sandwich')
      ? button('Sandwich', () => stateSet({ view: 'sandwich', ...of, zoom: '' }), { title: 's' })
      : null,
    !label && apiHas('source') ? button('Source', () => stateSet({ view: 'source', ...of }), { title: 'o' }) : null,
    button('Search', () => stateSet({ search: `^${of.fn.slice(0, 500).replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$` })),
  );
}

function detailsList(title, nodes, model, go) {
  if (!nodes.length) return null;
  return el(
    'section.frames',
    {},
    el('h4', {}, title),
    el(
      'ol',
      {},
      nodes.map((i) =>
        el(
          'li',
          {},
          el(
            'button.frame',
            { type: 'button', title: cleanName(modelModule(model, i)), onclick: () => go(i) },
            detailsDot(kindColor(model.kind[i])),
            el('span.frame-name', {}, cleanName(modelName(model, i), 300)),
            el('span.faint', {}, baseName(modelModule(model, i))),
          ),
        ),
      ),
    ),
  );
}

// Returns the frames of a stack of the server, leaf first.
export function detailsFrames(frames) {
  return el(
    'ol.stack',
    {},
    frames.map((f) =>
      el(
        'li',
        {},
        detailsDot(kindColor(f.kind ?? 0)),
        el(
          'span.frame-name',
          {},
          cleanName(f.name ?? `+0x${Number(f.file_offset ?? f.address ?? 0).toString(16)}`, 500),
        ),
        el('span.faint', { title: cleanName(f.module) }, baseName(f.module)),
      ),
    ),
  );
}
