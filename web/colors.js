// SPDX-License-Identifier: GPL-2.0-or-later
// Colours of frames, as tables for the light and the dark theme. Text on each has a contrast of at least 4.5.

import { cleanName, hashText } from './format.js';

const SHADES = 6;
// Hue and chroma of user, kernel, jit, label, interpreter and inlined frames: the order of the server's kinds.
const KINDS = [
  [60, 0.088],
  [245, 0.06],
  [155, 0.07],
  [260, 0.006],
  [300, 0.058],
  [92, 0.08],
];
export const KIND_NAMES = ['user code', 'kernel', 'compiled at run time', 'label', 'interpreter', 'inlined'];
const STATES = { cpu: [52, 0.105], blocked: [255, 0.07], runnable: [98, 0.1] };
const MODULE_HUES = 12;
const DIFF_STEPS = 8;
const INKS = {
  light: {
    base: 0.885,
    step: 0.013,
    text: '#16191f',
    dim: '#e9ebef',
    dimText: '#7b828d',
    match: 'oklch(0.78 0.14 345)',
    matchText: '#2a0016',
    edge: '#16191f',
  },
  dark: {
    base: 0.43,
    step: -0.012,
    text: '#f4f6f8',
    dim: '#242932',
    dimText: '#868e9b',
    match: 'oklch(0.55 0.19 350)',
    matchText: '#ffffff',
    edge: '#ffffff',
  },
};

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
}

function theme() {
  return isDark() ? INKS.dark : INKS.light;
}

function shades([hue, chroma]) {
  const { base, step } = theme();
  return Array.from(
    { length: SHADES },
    (_, i) => `oklch(${(base - step * (i - 1)).toFixed(3)} ${chroma} ${hue + 3 * (i - 2)})`,
  );
}

// Returns what a state is called: of wall-clock time, or of a thread that waits.
export function stateLabel(state) {
  return state === 'cpu' ? 'on the CPU' : cleanName(state, 40).replaceAll('_', ' ');
}

// Returns the CSS colour of a state, for legends and bars.
export function stateColor(state) {
  const [hue, chroma] = STATES[state] ?? (state === 'preempted' ? STATES.runnable : STATES.blocked);
  return `oklch(${isDark() ? 0.62 : 0.7} ${chroma * 1.25} ${hue})`;
}

export function kindColor(kind) {
  return shades(KINDS[kind] ?? KINDS[0])[2];
}

// Returns [colours, index of the colour per node] for a way of colouring.
export function colorNodes(model, way) {
  if (model.a) return colorByChange(model);
  if (way === 'state' && model.state) return colorByState(model);
  if (way === 'module') return colorByModule(model);
  return colorByKind(model);
}

function colorByKind(model) {
  const table = KINDS.flatMap(shades);
  const of = new Uint16Array(model.count);
  const shade = model.names.map((name) => hashText(name) % SHADES);
  for (let i = 0; i < model.count; i++)
    of[i] = Math.min(model.kind[i], KINDS.length - 1) * SHADES + shade[model.name[i]];
  return [table, of];
}

function colorByModule(model) {
  const table = Array.from({ length: MODULE_HUES }, (_, i) => shades([(i * 360) / MODULE_HUES + 20, 0.062]))
    .flat()
    .concat(shades(KINDS[3]));
  const hue = model.modules.map((module) => (module ? hashText(module) % MODULE_HUES : MODULE_HUES));
  const shade = model.names.map((name) => hashText(name) % SHADES);
  const of = new Uint16Array(model.count);
  for (let i = 0; i < model.count; i++) of[i] = hue[model.module[i]] * SHADES + shade[model.name[i]];
  return [table, of];
}

// A frame has the colour of the state that most of its time was spent in: the stronger, the more of it.
function colorByState(model) {
  const table = model.states.flatMap((state) =>
    [0.35, 0.7, 1].flatMap((part) => {
      const [hue, chroma] = STATES[state] ?? STATES.blocked;
      return shades([hue, chroma * part]);
    }),
  );
  const of = new Uint16Array(model.count);
  for (let i = 0; i < model.count; i++) {
    const { state, share } = modelState(model, i);
    of[i] = (state * 3 + (share > 0.9 ? 2 : share > 0.66 ? 1 : 0)) * SHADES + (model.name[i] % SHADES);
  }
  return [table, of];
}

// Returns the state in which most of a node's time was spent, and its share.
export function modelState(model, node) {
  const count = model.states.length;
  let best = 0;
  let sum = 0;
  for (let s = 0; s < count; s++) {
    const value = model.byState[node * count + s];
    sum += value;
    if (value > model.byState[node * count + best]) best = s;
  }
  return { state: best, share: sum ? model.byState[node * count + best] / sum : 0 };
}

// Blue: less in B. Orange: more. Grey: no significant change. The stronger, the larger the change.
function colorByChange(model) {
  const { base } = theme();
  const tone = (hue) =>
    Array.from(
      { length: DIFF_STEPS },
      (_, i) =>
        `oklch(${(base - (isDark() ? -0.07 : 0.11) * (i / DIFF_STEPS)).toFixed(3)} ${(0.02 + (0.1 * (i + 1)) / DIFF_STEPS).toFixed(3)} ${hue})`,
    );
  const table = [isDark() ? 'oklch(0.36 0.006 260)' : 'oklch(0.92 0.004 260)', ...tone(42), ...tone(250)];
  const of = new Uint16Array(model.count);
  for (let i = 1; i < model.count; i++) {
    if (!model.significant[i]) continue;
    const change = model.b[i] - model.a[i];
    const strength = Math.min(
      DIFF_STEPS - 1,
      Math.floor((Math.abs(change) / Math.max(model.a[i], model.b[i], 1)) * DIFF_STEPS),
    );
    of[i] = 1 + (change > 0 ? 0 : DIFF_STEPS) + strength;
  }
  return [table, of];
}

export function flameInk() {
  return theme();
}
