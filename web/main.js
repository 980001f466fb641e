// SPDX-License-Identifier: GPL-2.0-or-later
// Puts the page together: header, timeline, bar and one view at a time.

import { apiForget, apiGet, apiHas } from './api.js';
import { barMake } from './bar.js';
import { diffView } from './diff.js';
import { el, fill } from './dom.js';
import { flameView } from './flame.js';
import { formatMomentsAfter } from './format.js';
import { functionsView } from './functions.js';
import { headMake, themeRestore } from './head.js';
import { keysListen } from './keys.js';
import { Loader } from './loader.js';
import { sandwichView } from './sandwich.js';
import { sourceView } from './source.js';
import { spansView } from './spans.js';
import { sqlView } from './sql.js';
import { stateGet, stateListen } from './state.js';
import { timelineMake } from './timeline.js';
import { waitsView } from './waits.js';

const LIVE_MS = 3000;
// The views in the order of their tabs: what each needs is asked of the recording, and of a report what it has.
const VIEWS = [
  { id: 'flame', label: 'Flame graph', make: flameView, needs: (r) => r.metrics.length },
  {
    id: 'functions',
    label: 'Functions',
    make: functionsView,
    needs: (r) => r.metrics.length && apiHas('functions', { metric: r.metrics[0].id }),
  },
  { id: 'sandwich', label: 'Sandwich', make: sandwichView, needs: (r) => r.metrics.length && apiHas('sandwich') },
  { id: 'waits', label: 'Waits', make: waitsView, needs: (r) => recordingHas(r, 'offcpu') && apiHas('waits') },
  { id: 'spans', label: 'Spans', make: spansView, needs: (r) => r.spans.length && apiHas('spans') },
  { id: 'diff', label: 'Difference', make: diffView, needs: (r) => r.metrics.length && apiHas('diff') },
  { id: 'source', label: 'Source', make: sourceView, needs: (r) => r.metrics.length && apiHas('source') },
  { id: 'sql', label: 'SQL', make: sqlView, needs: () => apiHas('queries') },
];

function recordingHas(recording, metric) {
  return recording.metrics.some((m) => m.id === metric);
}

// The collector writes it, or the server has not read all of it.
function recordingGrows(recording) {
  return recording.live || (recording.partial && !recording.stuck);
}

function recordingSame(a, b) {
  return a.partial === b.partial && a.stuck === b.stuck && a.duration_ns === b.duration_ns;
}

class Page {
  constructor(recording) {
    this.recording = recording;
    this.views = VIEWS.filter((view) => view.needs(recording));
    this.made = new Map();
    this.main = document.getElementById('main');
    this.timeline = timelineMake(document.getElementById('timeline'), recording);
    this.bar = barMake(document.getElementById('tabs'), recording, this.views);
    stateListen((changed) => this.update(changed));
    this.update(new Set());
    keysListen(this);
    if (recordingGrows(recording)) this.timer = setInterval(() => this.refresh(), LIVE_MS);
  }

  // The view of the URL, or the first that the recording has.
  viewId() {
    return (this.views.find((view) => view.id === stateGet('view')) ?? this.views[0]).id;
  }

  view(id = this.viewId()) {
    if (!this.made.has(id)) this.made.set(id, this.views.find((view) => view.id === id).make(this));
    return this.made.get(id);
  }

  // The metric of the URL, or the first that the recording has.
  metric() {
    const { metrics } = this.recording;
    return metrics.find((m) => m.id === stateGet('metric')) ?? metrics[0];
  }

  update(changed) {
    const view = this.view();
    if (this.main.firstElementChild !== view.node) fill(this.main, view.node);
    this.main.setAttribute('aria-label', this.views.find((v) => v.id === this.viewId()).label);
    this.bar.update(this.viewId());
    this.timeline.update(changed);
    view.update(changed);
  }

  // While there is more to come: reads everything anew, and keeps what is selected. New kinds of events bring new views.
  async refresh() {
    const before = this.recording;
    if (document.hidden || (stateGet('from') && !before.partial)) return;
    apiForget();
    this.recording = await apiGet('recording').catch(() => before);
    if (this.recording.metrics.length !== before.metrics.length) return location.reload();
    if (!recordingGrows(this.recording)) clearInterval(this.timer);
    if (before.partial && recordingSame(this.recording, before)) return;
    headMake(document.getElementById('head'), this.recording);
    this.timeline.refresh(this.recording);
    const view = this.view();
    view.loader?.forget();
    view.update(new Set());
  }
}

function showEmpty(recording) {
  const text = recording.live
    ? 'The collector records. Its first events show up here within some seconds.'
    : 'No event occurred while it was recorded, or no process matched the filters of the collector.';
  fill(
    document.getElementById('main'),
    el(
      'div.empty',
      {},
      el('h2', {}, recording.live ? 'No events yet' : 'This recording has no events'),
      el('p', {}, text),
      recording.live
        ? null
        : el('p', {}, 'Record a command: ', el('code', {}, 'sudo collector -p profile,switch -- COMMAND')),
      el('p.faint', {}, recording.path),
    ),
  );
  if (recordingGrows(recording)) setTimeout(() => location.reload(), LIVE_MS);
}

function start() {
  themeRestore();
  const loader = new Loader(document.getElementById('main'));
  loader.get('recording', {}, (recording) => {
    formatMomentsAfter(recording.after_ns);
    headMake(document.getElementById('head'), recording);
    document.title = `${recording.path.split('/').filter(Boolean).pop() ?? 'recording'} · stacksexport`;
    if (recording.kinds.some((kind) => kind.kind !== 'lost' && kind.rows)) new Page(recording);
    else showEmpty(recording);
  });
}

start();
