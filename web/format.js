// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers and names as people read them.

const NANOSECONDS = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'µs'],
  [1, 'ns'],
];
const BYTES = [
  [2 ** 40, 'TiB'],
  [2 ** 30, 'GiB'],
  [2 ** 20, 'MiB'],
  [2 ** 10, 'KiB'],
  [1, 'B'],
];
const COUNTS = [
  [1e9, 'G'],
  [1e6, 'M'],
  [1e4, 'k', 1e3],
];

const ROUNDS_UP = 0.9995;

function digits(number) {
  const size = Math.abs(number);
  return number.toFixed(size >= 100 || Number.isInteger(number) ? 0 : size >= 10 ? 1 : 2);
}

// A value that would be rounded to 1000 of a unit is 1 of the next.
function scaled(value, units) {
  const size = Math.abs(value);
  const [factor, unit] = units.find(([f]) => size >= f * ROUNDS_UP) ?? units[units.length - 1];
  return `${digits(value / factor)} ${unit}`;
}

export function formatTime(ns) {
  if (!ns) return '0 s';
  if (Math.abs(ns) >= 60e9) return `${Math.floor(ns / 60e9)} min ${digits((ns % 60e9) / 1e9)} s`;
  return scaled(ns, NANOSECONDS);
}

export function formatCount(value) {
  if (Math.abs(value) < 9999.5) return digits(value);
  const [limit, unit, factor] = COUNTS.find(([f]) => Math.abs(value) >= f);
  return `${digits(value / (factor ?? limit))}${unit}`;
}

// Returns a value with its unit, as the server names units.
export function formatValue(value, unit) {
  if (value === null || value === undefined) return '–';
  if (unit === 'ns') return formatTime(value);
  if (unit === 'bytes') return value ? scaled(value, BYTES) : '0 B';
  if (unit === 'bytes/s') return `${value ? scaled(value, BYTES) : '0 B'}/s`;
  if (unit === '1/s') return `${formatCount(value)}/s`;
  if (unit === 'count' || !unit) return formatCount(value);
  return `${digits(value)} ${unit}`;
}

export function formatShare(part, whole) {
  if (!whole) return '–';
  const percent = (100 * part) / whole;
  return `${Math.abs(percent) >= 99.95 ? percent.toFixed(0) : Math.abs(percent) >= 10 ? percent.toFixed(1) : percent.toFixed(2)} %`;
}

export function formatExact(value) {
  return Math.round(value).toLocaleString('en').replaceAll(',', ' ');
}

let afterNs = 0;

// Moments are shown from the beginning of the recording. The page may have a part that begins `ns` later.
export function formatMomentsAfter(ns) {
  afterNs = ns;
}

// Returns a moment of the recording, with as many decimals as a range of this length needs.
export function formatMoment(ns, rangeNs) {
  const decimals = Math.max(0, Math.min(9, 3 - Math.floor(Math.log10(Math.max(1, rangeNs) / 1e9))));
  return `${((afterNs + ns) / 1e9).toFixed(decimals)} s`;
}

const CONTROLS =
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028\u2029\u202a-\u202e\u2060\u2066-\u2069\ufeff\ufff9-\ufffb]/g;

// Returns a name with control and direction characters made visible, cut to `limit` characters.
export function cleanName(text, limit = 2000) {
  const name = String(text ?? '');
  const short = name.length > limit ? `${name.slice(0, limit)}…` : name;
  return short.replace(CONTROLS, (c) => (c < ' ' ? String.fromCharCode(0x2400 + c.charCodeAt(0)) : '\ufffd'));
}

export function baseName(path) {
  return cleanName(path).split('/').pop();
}

export function hashText(text, seed = 0x811c9dc5) {
  let hash = seed;
  const end = Math.min(text.length, 500);
  for (let i = 0; i < end; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
