// SPDX-License-Identifier: GPL-2.0-or-later
// Where threads wait, and which threads wake them.

import { apiGet, apiHas, isReport } from './api.js';
import { stateColor, stateLabel } from './colors.js';
import { detailsFrames } from './details.js';
import { button, copyText, el, fill, fillControls, segments } from './dom.js';
import { cleanName, formatCount, formatTime } from './format.js';
import { Loader } from './loader.js';
import { stateGet, stateSelection, stateSet } from './state.js';
import { Table } from './table.js';

const WAITS_ROWS = 300;

export function waitsView(page) {
  return new WaitsView(page);
}

const waitsTime = (id, label, title) => ({
  id,
  label,
  number: true,
  show: (r) => formatTime(r[id]),
  value: (r) => r[id],
  title,
});

const GAPS = 'off the CPU inside slices that were joined: by a minimum duration or --budget, or because rows were lost';

function waitsBadge(state) {
  const dot = el('span.dot');
  dot.style.background = stateColor(state);
  return el('span.state', { title: state === 'gaps' ? GAPS : '' }, dot, stateLabel(state));
}

// The function that explains it, and what that called.
function waitsPlace(caller, where) {
  const call = cleanName(where ?? '', 200);
  return caller ? [cleanName(caller, 200), el('span.faint', {}, ` › ${call}`)] : call;
}

// Shows stacks of the server beside a table. `stacks`: [[title, id], …]
export async function waitsShowStacks(panel, stacks) {
  const sections = await Promise.all(
    stacks
      .filter(([, id]) => id && apiHas('stack', { id }))
      .map(async ([title, id]) => {
        const { frames } = await apiGet('stack', { id }).catch((error) => ({ frames: [{ name: error.message }] }));
        const text = frames.map((f) => `${f.name ?? '[no symbol]'}${f.module ? ` (${f.module})` : ''}`).join('\n');
        return el(
          'section.frames',
          {},
          el(
            'h4',
            {},
            title,
            button('Copy', () => copyText(text, 'Stack'), { class: 'quiet' }),
          ),
          frames.length ? detailsFrames(frames) : el('p.faint', {}, 'no stack'),
        );
      }),
  );
  fill(panel, sections.length ? sections : el('p.faint', {}, 'no stack'));
}

class WaitsView {
  constructor() {
    this.tools = el('div.tools', { role: 'toolbar', 'aria-label': 'Waits' });
    this.panel = el('aside.details', { 'aria-label': 'Stacks' });
    this.tables = { waits: this.waitsTable(), wakers: this.wakersTable() };
    this.holder = el('div.holder');
    this.node = el('div.view', {}, this.tools, el('div.split', {}, this.holder, this.panel));
    this.loader = new Loader(this.holder, () => fill(this.panel));
    this.slot = el('div.slot');
    this.holder.prepend(this.slot);
  }

  waitsTable() {
    this.most = 1;
    return new Table(
      'Waits',
      [
        { ...waitsTime('sum', 'Time', 'off the CPU, all intervals together'), bar: (r) => r.sum / this.most },
        {
          id: 'count',
          label: 'Count',
          number: true,
          class: 'wide',
          show: (r) => formatCount(r.count),
          value: (r) => r.count,
        },
        { ...waitsTime('p50', 'Median'), class: 'wide' },
        { ...waitsTime('p99', '99 %'), class: 'wide' },
        { ...waitsTime('max', 'Longest'), class: 'wide' },
        { id: 'state', label: 'State', show: (r) => waitsBadge(r.state), value: (r) => r.state },
        { id: 'command', label: 'Command', show: (r) => cleanName(r.command, 80), value: (r) => r.command, class: 'short wide' },
        {
          id: 'where',
          label: 'Waits in',
          show: (r) => waitsPlace(r.caller, r.where),
          value: (r) => `${r.caller || r.where}`,
          class: 'name',
          title: 'the function that explains the wait, and what it called: a function of libc, of a runtime or for any wait',
        },
      ],
      { pick: (row) => waitsShowStacks(this.panel, [['Stack', row.stack]]) },
    );
  }

  wakersTable() {
    return new Table(
      'Wakers',
      [
        {
          ...waitsTime('sum', 'Time', 'that the sleeper was blocked until it was woken'),
          bar: (r) => r.sum / this.most,
        },
        {
          id: 'count',
          label: 'Count',
          number: true,
          class: 'wide',
          show: (r) => formatCount(r.count),
          value: (r) => r.count,
        },
        {
          id: 'sleeper',
          label: 'Sleeper',
          show: (r) => cleanName(r.sleeper, 80),
          value: (r) => r.sleeper,
          class: 'short',
        },
        {
          id: 'sleep_where',
          class: 'name wide',
          label: 'Slept in',
          show: (r) => waitsPlace(r.sleep_caller, r.sleep_where),
          value: (r) => `${r.sleep_caller || r.sleep_where}`,
        },
        { id: 'waker', label: 'Waker', show: (r) => cleanName(r.waker, 80), value: (r) => r.waker, class: 'short' },
        {
          id: 'waker_where',
          class: 'name wide',
          label: 'Woken from',
          show: (r) => waitsPlace(r.waker_caller, r.waker_where),
          value: (r) => `${r.waker_caller || r.waker_where}`,
        },
      ],
      {
        pick: (row) =>
          waitsShowStacks(this.panel, [
            ['Slept in', row.sleep_stack],
            ['Woken from', row.waker_stack],
          ]),
      },
    );
  }

  update() {
    const which = apiHas('wakers') && stateGet('waits') === 'wakers' ? 'wakers' : 'waits';
    fillControls(
      this.tools,
      apiHas('wakers')
        ? segments(
            'Table',
            [
              ['waits', 'Where threads wait'],
              ['wakers', 'Who wakes whom'],
            ],
            which,
            (waits) => stateSet({ waits }),
          )
        : null,
    );
    const parameters = isReport ? {} : { limit: WAITS_ROWS, ...stateSelection() };
    this.loader.get(which, parameters, ({ rows }) => {
      this.most = Math.max(1, ...rows.map((row) => row.sum));
      fill(this.slot, this.tables[which].node);
      this.tables[which].sortId = 'sum';
      this.tables[which].show(rows);
      fill(this.panel, el('p.faint', {}, 'Select a row to see its stacks.'));
      if (!rows.length)
        this.loader.showNote(
          which === 'waits' ? 'No thread waited' : 'No wake-ups',
          which === 'waits' ? 'Nothing of what is selected left the CPU.' : 'Record them with -p switch,wake.',
        );
    });
  }
}
