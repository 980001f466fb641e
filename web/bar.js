// SPDX-License-Identifier: GPL-2.0-or-later
// The bar of tabs and of what is selected: process, span, range.

import { button, choice, el, fill, fillControls } from './dom.js';
import { isReport } from './api.js';
import { cleanName, formatMoment, formatTime } from './format.js';
import { stateAll, stateSelection, stateSet } from './state.js';

const LABELS = { tgid: 'PID', pid: 'TID', thread: 'thread', cgroup: 'cgroup', host: 'host' };
// What a report has for the whole recording only.
const WHOLE = ['waits', 'spans'];

export function barMake(node, recording, views) {
  const tabs = el('div.tabs', { role: 'tablist', 'aria-label': 'Views' });
  const buttons = views.map((view, i) =>
    el(
      'button.tab',
      {
        type: 'button',
        role: 'tab',
        id: `tab-${view.id}`,
        'aria-controls': 'main',
        title: `${view.label} (${i + 1})`,
        onclick: () => stateSet({ view: view.id }),
      },
      view.label,
    ),
  );
  tabs.append(...buttons);
  tabs.addEventListener('keydown', (event) => barMove(event, buttons));
  const filters = el('div.filters');
  fill(node, tabs, filters);
  return {
    update(viewId) {
      views.forEach((view, i) => {
        buttons[i].setAttribute('aria-selected', String(view.id === viewId));
        buttons[i].tabIndex = view.id === viewId ? 0 : -1;
        if (view.id === viewId) barReveal(tabs, buttons[i]);
      });
      barShowFilters(filters, recording);
    },
  };
}

// Scrolls the tabs, and nothing else, until this one is seen.
function barReveal(tabs, tab) {
  if (tab.offsetLeft + tab.offsetWidth > tabs.scrollLeft + tabs.clientWidth || tab.offsetLeft < tabs.scrollLeft)
    tabs.scrollLeft = tab.offsetLeft - 40;
}

// Arrow keys move among tabs, as in every list of tabs.
function barMove(event, buttons) {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!step) return;
  const next = buttons[(buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length];
  next.focus();
  next.click();
  event.preventDefault();
}

function barShowFilters(node, recording) {
  fillControls(
    node,
    isReport && stateAll().from && WHOLE.includes(stateAll().view)
      ? el('span.faint', {}, 'a report has this for the whole recording only')
      : null,
    isReport ? null : barProcess(recording),
    isReport || !recording.spans.length ? null : barSpan(recording),
    Object.entries(LABELS).map(([key, label]) => barChip(key, `${label} ${cleanName(stateAll()[key], 40)}`)),
    barRange(recording),
    Object.keys(stateSelection()).length > 1
      ? button('Clear all', () => stateSet(barNothing()), { class: 'quiet' })
      : null,
  );
}

function barNothing() {
  return Object.fromEntries(Object.keys(stateSelection()).map((key) => [key, '']));
}

// Processes of one command are one choice; their time is in it.
function barProcess(recording) {
  const commands = new Map();
  for (const p of recording.processes)
    if (p.command) commands.set(p.command, (commands.get(p.command) ?? 0) + p.cpu_ns);
  const options = [...commands]
    .sort((a, b) => b[1] - a[1])
    .map(([command, ns]) => [command, `${cleanName(command, 40)}${ns ? `  ${formatTime(ns)}` : ''}`]);
  const { command } = stateAll();
  if (command && !commands.has(command)) options.unshift([command, cleanName(command, 40)]);
  return choice('Process', [['', 'all processes'], ...options], command, (value) => stateSet({ command: value }));
}

function barSpan(recording) {
  const options = recording.spans.filter((s) => s.name).map((s) => [s.name, cleanName(s.name, 40)]);
  return choice('Span', [['', 'all'], ...options], stateAll().span, (value) => stateSet({ span: value }));
}

function barChip(key, text) {
  if (!stateAll()[key]) return null;
  return button(`${text} ×`, () => stateSet({ [key]: '' }), { class: 'chip-button', 'aria-label': `Remove ${text}` });
}

function barRange(recording) {
  const { from, to } = stateAll();
  if (!from && !to) return null;
  const [a, b] = [Number(from || 0), Number(to || recording.duration_ns)];
  return button(
    `${formatMoment(a, b - a)} – ${formatMoment(b, b - a)} (${formatTime(b - a)}) ×`,
    () => stateSet({ from: '', to: '' }),
    { class: 'chip-button', 'aria-label': 'Remove the selected range' },
  );
}
