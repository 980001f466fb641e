// SPDX-License-Identifier: GPL-2.0-or-later
// The view as the URL's fragment keeps it: what is not there has its default. Back and forward go through it.

import { apiState } from './api.js';

const DEFAULTS = {
  view: 'flame',
  metric: '',
  layout: 'icicle',
  merge: 'function',
  root: 'none',
  color: 'kind',
  hide: '',
  search: '',
  zoom: '',
  invert: '',
  from: '',
  to: '',
  command: '',
  tgid: '',
  pid: '',
  thread: '',
  span: '',
  cgroup: '',
  host: '',
  fn: '',
  module: '',
  afrom: '',
  ato: '',
  bfrom: '',
  bto: '',
  other: '',
  normalise: 'time',
  by: 'function',
  sort: 'self',
  waits: 'waits',
  query: '',
  open: '',
  heat: '',
  folded: '',
  tfrom: '',
  tto: '',
  ...apiState,
};
export const SELECTION = ['from', 'to', 'command', 'tgid', 'pid', 'thread', 'span', 'cgroup', 'host'];
const listeners = new Set();
let current = stateParse(location.hash);

function stateParse(hash) {
  const state = { ...DEFAULTS };
  for (const [key, value] of new URLSearchParams(hash.slice(1))) if (key in DEFAULTS) state[key] = value;
  return state;
}

function stateHash(state) {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) if (value !== DEFAULTS[key]) params.set(key, value);
  return `#${params}`;
}

export function stateGet(key) {
  return current[key];
}

export function stateAll() {
  return current;
}

function stateChange(next) {
  const changed = new Set(Object.keys(DEFAULTS).filter((key) => next[key] !== current[key]));
  current = next;
  if (changed.size) for (const listener of listeners) listener(changed);
}

// Changes the view. A step that people want back is an entry in the history; `quiet` ones (typing) replace the last.
export function stateSet(changes, quiet = false) {
  const next = { ...current };
  for (const [key, value] of Object.entries(changes)) next[key] = String(value ?? '');
  const hash = stateHash(next);
  if (hash === stateHash(current)) return;
  history[quiet ? 'replaceState' : 'pushState'](null, '', hash === '#' ? location.pathname + location.search : hash);
  stateChange(next);
}

export function stateListen(listener) {
  listeners.add(listener);
}

export function stateSelection() {
  return Object.fromEntries(SELECTION.filter((key) => current[key] !== '').map((key) => [key, current[key]]));
}

// Returns a comma-separated state as a set, and the string with `item` added or taken out.
export function stateSetOf(key) {
  return new Set(current[key].split(',').filter(Boolean).map(decodeURIComponent));
}

export function stateToggled(key, item) {
  const items = stateSetOf(key);
  if (!items.delete(item)) items.add(item);
  return [...items].map(encodeURIComponent).join(',');
}

addEventListener('popstate', () => stateChange(stateParse(location.hash)));
