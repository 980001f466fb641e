// SPDX-License-Identifier: GPL-2.0-or-later
// Loads one panel's data: the last request wins, anything over half a second shows progress, errors say what to do.

import { apiGet, apiPost, isReport } from './api.js';
import { button, el } from './dom.js';
import { formatTime } from './format.js';

const PATIENCE_MS = 500;

export class Loader {
  // `panel` holds the result; progress and errors lie over it. failed() removes what is shown elsewhere of an earlier result.
  constructor(panel, failed) {
    this.panel = panel;
    this.failed = failed;
    this.key = null;
    this.cover = el('div.cover', { hidden: true });
    panel.append(this.cover);
  }

  // Calls work(signal) and then show(result), unless `key` is what was loaded last.
  async run(key, work, show) {
    if (key === this.key) return;
    this.stop();
    this.key = key;
    const control = (this.control = new AbortController());
    const timer = (this.timer = setTimeout(() => this.showProgress(control), PATIENCE_MS));
    this.panel.setAttribute('aria-busy', 'true');
    try {
      const result = await work(control.signal);
      if (this.control !== control) return;
      this.clear();
      show(result);
    } catch (error) {
      if (this.control !== control) return;
      this.showError(error, () => this.again(key, work, show));
      this.failed?.();
    } finally {
      clearTimeout(timer);
    }
  }

  again(key, work, show) {
    this.key = null;
    this.run(key, work, show);
  }

  stop() {
    clearTimeout(this.timer);
    clearInterval(this.poll);
    this.control?.abort();
    this.control = null;
  }

  clear() {
    clearTimeout(this.timer);
    clearInterval(this.poll);
    this.panel.removeAttribute('aria-busy');
    this.cover.hidden = true;
  }

  showProgress(control) {
    const began = performance.now() - PATIENCE_MS;
    const what = el('span', {}, 'Working');
    const bar = el('progress', { max: 1, 'aria-label': 'Progress' });
    const cancel = () => {
      control.abort();
      if (!isReport) apiPost('cancel', {}).catch(() => {});
    };
    this.cover.hidden = false;
    this.cover.className = 'cover cover-progress';
    this.cover.replaceChildren(el('div.card', { role: 'status' }, what, bar, button('Cancel', cancel)));
    this.poll = setInterval(() => this.pollProgress(what, bar, began), PATIENCE_MS);
  }

  async pollProgress(what, bar, began) {
    const progress = await fetch('api/progress')
      .then((r) => r.json())
      .catch(() => ({ busy: [] }));
    const job = progress.busy?.[0];
    what.textContent = `${job?.what ?? 'Working'} · ${formatTime((performance.now() - began) * 1e6)}`;
    if (Number.isFinite(job?.fraction)) bar.value = job.fraction;
    else bar.removeAttribute('value');
  }

  showError(error, retry) {
    this.clear();
    const cancelled = error.name === 'AbortError';
    if (!cancelled && !('hint' in error)) console.warn(error);
    this.cover.hidden = false;
    this.cover.className = 'cover cover-error';
    this.cover.replaceChildren(
      el(
        'div.card',
        { role: cancelled ? 'status' : 'alert' },
        el('strong', {}, cancelled ? 'Cancelled' : error.message),
        error.hint ? el('p', {}, error.hint) : null,
        button('Try again', retry),
      ),
    );
  }

  // Shows a text in place of a result: an empty table, something that was not recorded.
  showNote(text, hint = '') {
    this.clear();
    this.cover.hidden = false;
    this.cover.className = 'cover cover-note';
    this.cover.replaceChildren(
      el('div.card', { role: 'status' }, el('strong', {}, text), hint ? el('p', {}, hint) : null),
    );
  }

  // Gets one answer of the server and shows it.
  get(path, params, show) {
    return this.run(JSON.stringify([path, params]), (signal) => apiGet(path, params, signal), show);
  }

  forget() {
    this.key = null;
  }
}
