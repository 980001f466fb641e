// SPDX-License-Identifier: GPL-2.0-or-later
// Keys that work everywhere on the page, and the list of all of them.

import { button, el } from './dom.js';
import { isReport } from './api.js';
import { stateGet, stateSet, stateToggled } from './state.js';
import { timelineKeep, timelineZoomIn, timelineZoomOut } from './timeline.js';

const HELP = [
  [
    'Everywhere',
    [
      ['1 … 8', 'choose a view'],
      ['/', 'search'],
      ['m', 'heat map'],
      ['l', 'fold the timeline'],
      ['[ and ]', 'previous and next metric'],
      ['x', 'remove the selected range'],
      ['z, Z', 'zoom the timeline into the range, and out'],
      ['a, b', 'the selected range is side A, B of a comparison'],
      ['t', 'theme'],
      ['?', 'these keys'],
    ],
  ],
  [
    'Timeline (focus it with Tab)',
    [
      ['← →', 'move the range'],
      ['Shift ← →', 'move its end'],
      ['+ −', 'make it shorter, longer'],
      ['Esc', 'remove it'],
    ],
  ],
  [
    'Flame graph',
    [
      ['↑ ↓ ← →', 'move among frames'],
      ['Enter', 'zoom into the frame'],
      ['Esc, Backspace', 'zoom out'],
      ['Home', 'zoom out completely'],
      ['n, N', 'next, previous match'],
      ['f', 'flame or icicle'],
      ['v', 'invert: leaf first'],
      ['k, i, j', 'hide kernel, interpreter, library frames'],
      ['w', 'hide waits for work'],
      ['c', 'copy the stack'],
      ['s', 'sandwich of the function'],
      ['o', 'source of the function'],
    ],
  ],
  [
    'Tables',
    [
      ['↑ ↓', 'move among rows'],
      ['Enter', 'choose the row'],
    ],
  ],
  ['SQL', [['Ctrl Enter', 'run']]],
];

export function keysListen(page) {
  document.addEventListener('show-keys', keysShow);
  document.addEventListener('keydown', (event) => keysPress(page, event));
}

function keysPress(page, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.target.closest('input, textarea, select, dialog')) return;
  const leadsTo = LEADS_TO[event.key];
  if (leadsTo && !page.views.some((view) => view.id === leadsTo)) return;
  const view = page.views[Number(event.key) - 1];
  const action = view ? () => stateSet({ view: view.id }) : (KEYS_OF_PAGE[event.key] ?? page.view().keys?.[event.key]);
  if (!action) return;
  event.preventDefault();
  action(page);
}

// Keys of views that go to another view: they do nothing where it is missing.
const LEADS_TO = { s: 'sandwich', o: 'source' };

function keysNextMetric(page, step) {
  const { metrics } = page.recording;
  const at = metrics.findIndex((m) => m.id === page.metric().id);
  stateSet({ metric: metrics[(at + step + metrics.length) % metrics.length].id, zoom: '' });
}

const hideKey = (what) => () => !isReport && stateSet({ hide: stateToggled('hide', what), zoom: '' });

const KEYS_OF_PAGE = {
  '?': () => keysShow(),
  '/': () => document.querySelector('#main input[type="search"]')?.focus(),
  z: timelineZoomIn,
  Z: timelineZoomOut,
  t: () => document.getElementById('theme').click(),
  m: () => stateSet({ heat: stateGet('heat') ? '' : '1' }),
  l: () => stateSet({ folded: stateGet('folded') ? '' : '1' }),
  x: () => stateSet({ from: '', to: '' }),
  a: () => timelineKeep('a'),
  b: () => timelineKeep('b'),
  '[': (page) => keysNextMetric(page, -1),
  ']': (page) => keysNextMetric(page, 1),
  v: () => stateSet({ invert: stateGet('invert') ? '' : '1', zoom: '' }),
  f: () => stateSet({ layout: stateGet('layout') === 'flame' ? 'icicle' : 'flame' }),
  k: hideKey('kernel'),
  i: hideKey('interpreter'),
  j: hideKey('library'),
  w: hideKey('idle'),
};

function keysShow() {
  if (document.querySelector('dialog.keys')) return;
  const dialog = el(
    'dialog.keys',
    {
      'aria-label': 'Keys',
      onclose: () => dialog.remove(),
      onclick: (event) => event.target === dialog && dialog.close(),
    },
    el(
      'header',
      {},
      el('h2', {}, 'Keys'),
      button('Close', () => dialog.close()),
    ),
    el(
      'div.keys-columns',
      {},
      HELP.map(([title, keys]) =>
        el(
          'section',
          {},
          el('h3', {}, title),
          el(
            'dl',
            {},
            keys.map(([key, what]) => [el('dt', {}, el('kbd', {}, key)), el('dd', {}, what)]),
          ),
        ),
      ),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
}
