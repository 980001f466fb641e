// SPDX-License-Identifier: GPL-2.0-or-later
// Elements. Text reaches the page only as text nodes: names in a recording are hostile.

// Returns an element. `properties`: on* are listeners, `class` and `data`/ARIA names are attributes, the rest are properties.
export function el(tag, properties = {}, ...children) {
  const [name, ...classes] = tag.split('.');
  const node = document.createElement(name || 'div');
  if (classes.length) node.className = classes.join(' ');
  for (const [key, value] of Object.entries(properties)) setProperty(node, key, value);
  node.append(...domChildren(children));
  return node;
}

function domChildren(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

function setProperty(node, key, value) {
  if (value === undefined || value === null) return;
  if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
  else if (key === 'text') node.textContent = value;
  else if (key === 'class') node.className = `${node.className} ${value}`.trim();
  else if (key in node && key !== 'list') node[key] = value;
  else node.setAttribute(key, value);
}

export function fill(node, ...children) {
  node.replaceChildren(...domChildren(children));
  return node;
}

// Like fill(), for controls: the one that has the focus is replaced by the one with the same label, which gets it.
export function fillControls(node, ...children) {
  const held = node.contains(document.activeElement) ? labelOf(document.activeElement) : null;
  fill(node, ...children);
  if (held !== null) [...node.querySelectorAll('select, button, input')].find((n) => labelOf(n) === held)?.focus();
}

function labelOf(node) {
  return node.getAttribute('aria-label') ?? node.textContent;
}

export function button(label, onclick, properties = {}) {
  return el('button.button', { type: 'button', onclick, ...properties }, label);
}

// Returns a labelled <select>. `options`: [[value, text], …].
export function choice(label, options, value, onpick, properties = {}) {
  const select = el(
    'select',
    { onchange: () => onpick(select.value), 'aria-label': label, ...properties },
    options.map(([id, text]) => el('option', { value: id, selected: id === value }, text)),
  );
  return el('label.choice', {}, el('span.choice-label', {}, label), select);
}

// Returns a button that is on or off.
export function toggle(label, on, onpick, properties = {}) {
  return el(
    'button.button.toggle',
    { type: 'button', 'aria-pressed': String(on), onclick: () => onpick(!on), ...properties },
    label,
  );
}

// Returns a group of buttons of which one is on.
export function segments(label, options, value, onpick) {
  return el(
    'div.segments',
    { role: 'group', 'aria-label': label },
    options.map(([id, text]) =>
      el('button', { type: 'button', 'aria-pressed': String(id === value), onclick: () => onpick(id) }, text),
    ),
  );
}

export function announce(text) {
  document.getElementById('announce').textContent = text;
}

// Copies text; says so where screen readers and people see it.
export async function copyText(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyBySelection(text);
  }
  toast(`${what} copied`);
}

function copyBySelection(text) {
  const area = el('textarea', { value: text, class: 'unseen' });
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}

let toastTimer = 0;
function toast(text) {
  document.querySelector('.toast')?.remove();
  document.body.append(el('div.toast', { role: 'status' }, text));
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => document.querySelector('.toast')?.remove(), 1800);
}

// Returns { width, height } changes of a node to `listener`, at most once per frame.
export function onResize(node, listener) {
  let waiting = 0;
  new ResizeObserver(() => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(listener);
  }).observe(node);
}

// Sizes a canvas for the screen's pixels. Returns its 2D context, scaled so that units are CSS pixels.
export function sharpContext(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== w || canvas.height !== h) {
    [canvas.width, canvas.height] = [w, h];
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext('2d', { alpha: true });
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}
