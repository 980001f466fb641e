// SPDX-License-Identifier: GPL-2.0-or-later
// Controls that several views have: metric, merging, hiding, search.

import { choice, el, segments, toggle } from './dom.js';
import { apiHas, isReport } from './api.js';
import { stateGet, stateSet, stateSetOf, stateToggled } from './state.js';

const HIDDEN_FRAMES = [
  ['kernel', 'kernel'],
  ['interpreter', 'interpreter'],
  ['library', 'libraries'],
];
const HIDDEN_WAITS = [['idle', 'waits for work', 'Time in which a thread slept and waited for a request or a task (w)']];
// Metrics that have time off the CPU.
const WAITING = new Set(['offcpu', 'wall', 'spans']);
const ROOTS = [
  ['none', 'nothing'],
  ['command', 'command'],
  ['process', 'process'],
  ['thread', 'thread'],
  ['span', 'span'],
  ['cgroup', 'cgroup'],
  ['container', 'container'],
  ['unit', 'unit'],
  ['host', 'host'],
];

export function controlMetric(page) {
  const metrics = page.recording.metrics.filter((m) => !isReport || apiHas('flame', { metric: m.id }));
  return choice(
    'Metric',
    metrics.map((m) => [m.id, m.label]),
    page.metric().id,
    (metric) => stateSet({ metric, zoom: '' }),
    { id: 'metric' },
  );
}

export function controlMerge() {
  return choice(
    'Merge by',
    [
      ['function', 'function'],
      ['module', 'module'],
      ['line', 'line'],
    ],
    stateGet('merge'),
    (merge) => stateSet({ merge, zoom: '' }),
  );
}

export function controlRoot(metric) {
  const roots = ROOTS.filter(([root]) => root === 'none' || apiHas('flame', { metric, root }));
  return roots.length === 1 ? null : choice('Split by', roots, stateGet('root'), (root) => stateSet({ root, zoom: '' }));
}

export function controlHide(metric) {
  return controlToggles([...HIDDEN_FRAMES, ...(WAITING.has(metric) ? HIDDEN_WAITS : [])]);
}

// Like controlHide(), for views that keep all frames.
export function controlHideWaits(metric) {
  return WAITING.has(metric) ? controlToggles(HIDDEN_WAITS) : null;
}

// Returns the parameter `hide` of a request for a metric.
export function hideParameter(metric) {
  return [...stateSetOf('hide')].filter((id) => id !== 'idle' || WAITING.has(metric)).join(',');
}

// Like hideParameter(), for views that keep all frames.
export function hideWaitsParameter(metric) {
  return hideParameter(metric).split(',').includes('idle') ? 'idle' : '';
}

function controlToggles(choices) {
  const hidden = stateSetOf('hide');
  return el(
    'div.segments',
    { role: 'group', 'aria-label': 'Hide' },
    el('span.choice-label', {}, 'Hide'),
    choices.map(([id, label, title]) =>
      toggle(label, hidden.has(id), () => stateSet({ hide: stateToggled('hide', id), zoom: '' }), { class: 'small', title }),
    ),
  );
}

export function controlLayout() {
  return segments(
    'Direction',
    [
      ['icicle', 'Icicle'],
      ['flame', 'Flame'],
    ],
    stateGet('layout'),
    (layout) => stateSet({ layout }),
  );
}

export function controlInvert() {
  return toggle('Invert', stateGet('invert') === '1', (on) => stateSet({ invert: on ? '1' : '', zoom: '' }), {
    title: 'Leaf first: what ran, and below it who called it (v)',
  });
}

// Returns { node, show(result) } of a search field. The result is that of modelSearch(), or null.
export function controlSearch(onnext) {
  const share = el('span.search-share', { 'aria-live': 'polite' });
  const input = el('input.search', {
    type: 'search',
    id: 'search',
    placeholder: 'Search (regular expression)',
    'aria-label': 'Search in names',
    spellcheck: false,
    value: stateGet('search'),
    oninput: () => stateSet({ search: input.value }, true),
    onkeydown: (event) => {
      if (event.key === 'Enter') onnext?.(event.shiftKey ? -1 : 1);
      if (event.key === 'Escape') input.value ? stateSet({ search: '' }, true) : input.blur();
    },
  });
  return {
    node: el('div.search-box', {}, input, share),
    show(result) {
      if (input.value !== stateGet('search')) input.value = stateGet('search');
      input.setAttribute('aria-invalid', String(Boolean(result && !result.valid)));
      share.textContent = !result
        ? ''
        : `${(100 * result.share).toFixed(1)} % in ${result.nodes}${result.valid ? '' : ' (as plain text)'}`;
    },
  };
}
