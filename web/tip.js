// SPDX-License-Identifier: GPL-2.0-or-later
// The tooltip beside the pointer.

import { el, fill } from './dom.js';

const GAP = 14;
let tip = null;

// Shows `children` beside the pointer; without any it goes.
export function tipShow(event, ...children) {
  tip ??= el('div.tip', { role: 'tooltip' });
  if (!event || !children.length) return tip.remove();
  fill(tip, ...children);
  if (!tip.isConnected) document.body.append(tip);
  const [width, height] = [tip.offsetWidth, tip.offsetHeight];
  const x = event.clientX + GAP + width > innerWidth ? event.clientX - GAP - width : event.clientX + GAP;
  const y = event.clientY + GAP + height > innerHeight ? event.clientY - GAP - height : event.clientY + GAP;
  tip.style.left = `${Math.max(4, x)}px`;
  tip.style.top = `${Math.max(4, y)}px`;
}

export function tipHide() {
  tip?.remove();
}
