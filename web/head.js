// SPDX-License-Identifier: GPL-2.0-or-later
// The header: which recording this is, and what it does not know.

import { el, fill, button } from './dom.js';
import { cleanName, formatCount, formatExact, formatShare, formatTime } from './format.js';

const THEMES = ['system', 'light', 'dark'];
const GLYPHS = { system: '◐', light: '☀', dark: '☾' };

export function headMake(node, recording) {
  const rows = recording.kinds.reduce((sum, kind) => sum + kind.rows, 0);
  fill(
    node,
    el('img.logo', { src: 'icon.svg', alt: '' }),
    el(
      'h1',
      { title: cleanName(recording.path) },
      cleanName(recording.path.split('/').filter(Boolean).pop() ?? recording.path, 60),
    ),
    headState(recording),
    el(
      'span.facts',
      {},
      [
        cleanName(recording.host ?? '', 60),
        headDate(recording.t0_ns),
        formatTime(recording.duration_ns),
        `${formatCount(recording.stacks)} stacks`,
      ]
        .filter(Boolean)
        .map((fact) => el('span', {}, fact)),
    ),
    headChip(
      `${formatCount(rows)} events`,
      'plain',
      recording.kinds.map(
        (k) =>
          `${cleanName(k.kind)}: ${formatExact(k.rows)}${k.weight > k.rows ? ` rows for ${formatExact(k.weight)} events` : ''}`,
      ),
    ),
    el('span.spring'),
    headUnwind(recording.unwind),
    headLost(recording.lost),
    themeButton(),
    button('?', () => document.dispatchEvent(new CustomEvent('show-keys')), {
      class: 'icon',
      'aria-label': 'Keys',
      title: 'Keys (?)',
    }),
  );
}

// Whether there will be more to show: the recording is still written, or still read.
function headState(recording) {
  if (recording.stuck) return el('span.chip.warn', {}, `only the first ${formatTime(recording.duration_ns)} can be read`);
  if (recording.partial) return el('span.chip.live', {}, `first ${formatTime(recording.duration_ns)}, reading more`);
  return recording.live ? el('span.chip.live', {}, 'recording') : null;
}

function headDate(nanoseconds) {
  const date = new Date(Number(BigInt(nanoseconds || 0) / 1000000n));
  return date.getTime() ? `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC` : '';
}

// How many stacks reach their root, and how the others end.
function headUnwind(unwind) {
  const all = unwind.reduce((sum, u) => sum + u.rows, 0);
  if (!all) return null;
  const whole = unwind.filter((u) => u.how === 'root').reduce((sum, u) => sum + u.rows, 0);
  const others = unwind.filter((u) => u.how !== 'root').map((u) => `${cleanName(u.how)}: ${formatExact(u.rows)}`);
  return headChip(`${formatShare(whole, all)} whole stacks`, whole / all >= 0.99 ? 'good' : 'warn', [
    `${formatExact(whole)} of ${formatExact(all)} user stacks reach their root.`,
    ...others,
  ]);
}

// What was lost while recording: sums are too small by that.
function headLost(lost) {
  const events = lost.reduce((sum, l) => sum + l.events, 0);
  if (!events) return headChip('nothing lost', 'good', ['Every event was recorded.']);
  return headChip(`${formatCount(events)} event${events === 1 ? '' : 's'} lost`, 'warn', [
    'Sums are too small by what was lost:',
    ...lost.map((l) => `${cleanName(l.kind)}, ${cleanName(l.reason)}: ${formatExact(l.events)}`),
  ]);
}

function headChip(text, tone, lines) {
  return el(
    `details.chip.${tone}`,
    {},
    el('summary', {}, text),
    el(
      'div.pop',
      {},
      lines.map((line) => el('p', {}, line)),
    ),
  );
}

function themeStored() {
  try {
    return localStorage.getItem('theme') ?? 'system';
  } catch {
    return 'system';
  }
}

function themeSet(theme) {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem('theme', theme);
  } catch {
    /* a page without storage forgets it */
  }
  document.dispatchEvent(new CustomEvent('theme'));
}

export function themeRestore() {
  const theme = themeStored();
  if (theme !== 'system') document.documentElement.dataset.theme = theme;
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () =>
    document.dispatchEvent(new CustomEvent('theme')),
  );
  document.addEventListener('click', closeOthers);
}

// An open chip closes when something else is clicked.
function closeOthers(event) {
  for (const open of document.querySelectorAll('details.chip[open]'))
    if (!open.contains(event.target)) open.open = false;
}

function themeButton() {
  const show = (node, theme) => {
    node.textContent = GLYPHS[theme];
    node.title = `Theme: ${theme} (t)`;
    node.setAttribute('aria-label', `Theme: ${theme}`);
  };
  const node = button(
    '',
    () => {
      const next = THEMES[(THEMES.indexOf(themeStored()) + 1) % THEMES.length];
      themeSet(next);
      show(node, next);
    },
    { class: 'icon', id: 'theme' },
  );
  show(node, themeStored());
  return node;
}
