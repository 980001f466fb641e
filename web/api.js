// SPDX-License-Identifier: GPL-2.0-or-later
// The page's only way to data: the server, or in a report what is embedded in the page.

import { sliceFlame, sliceFunctions } from './slices.js';

const KEPT = 40;
const answers = new Map();
const embedded = apiEmbedded();

function apiEmbedded() {
  const data = document.getElementById('data');
  return data ? JSON.parse(data.textContent) : null;
}

export const isReport = embedded !== null;

// What a report shows first, instead of the page's defaults.
export const apiState = embedded?.state ?? {};

// What went wrong, and what to do about it.
class ApiError extends Error {
  constructor(message, hint = '') {
    super(message);
    this.hint = hint;
  }
}

// Returns the path with its parameters in order, without empty ones: the key of an answer.
function apiKey(path, params = {}) {
  const entries = Object.entries(params).filter(([, value]) => value !== '' && value !== undefined && value !== null);
  const query = new URLSearchParams(entries.sort(([a], [b]) => (a < b ? -1 : 1))).toString();
  return query ? `${path}?${query}` : path;
}

export async function apiGet(path, params = {}, signal = undefined) {
  const key = apiKey(`api/${path}`, params);
  if (embedded) return apiFromReport(key, path, params);
  if (answers.has(key)) return apiKeep(key, answers.get(key));
  return apiKeep(key, await apiFetch(key, { signal }));
}

export function apiPost(path, body, signal = undefined) {
  if (embedded) throw new ApiError('a report has no server', 'Open the recording with stacksexport view.');
  return apiFetch(`api/${path}`, { method: 'POST', body: JSON.stringify(body), signal });
}

// Returns whether the page can have this answer: always from a server, in a report only what is embedded.
export function apiHas(path, params = {}) {
  return !embedded || apiKey(`api/${path}`, params) in embedded;
}

export function apiForget() {
  answers.clear();
}

function apiKeep(key, answer) {
  answers.delete(key);
  answers.set(key, answer);
  if (answers.size > KEPT) answers.delete(answers.keys().next().value);
  return answer;
}

function apiFromReport(key, path, params) {
  if (key in embedded) return embedded[key];
  if (params.root && apiHas(path, { metric: params.metric, root: params.root }))
    throw new ApiError(
      'this report has no ranges of time of a flame graph that is split',
      'Choose to split by nothing, or open the recording with stacksexport view.',
    );
  const flame = embedded[apiKey('api/flame', { metric: params.metric })];
  const [from, to] = [Number(params.from || 0), Number(params.to || Infinity)];
  if (flame?.slices && path === 'flame') return sliceFlame(flame, from, to);
  if (flame?.slices && path === 'functions') return sliceFunctions(sliceFlame(flame, from, to));
  throw new ApiError(
    'this report does not have that',
    'Open the recording with stacksexport view to select, filter and search in it.',
  );
}

async function apiFetch(url, options) {
  let response;
  try {
    response = await fetch(url, { cache: 'no-store', ...options });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(
      'the server does not answer',
      'Run stacksexport view again and open the address that it prints.',
    );
  }
  const answer = await response.json().catch(() => null);
  if (!response.ok)
    throw new ApiError(answer?.error ?? `the server answers ${response.status}`, apiHint(response.status));
  if (answer === null) throw new ApiError('the answer is cut off', 'Try again.');
  return answer;
}

function apiHint(status) {
  if (status === 413) return 'Select a shorter range or fewer processes.';
  if (status >= 500) return 'Try again; the terminal of stacksexport view says more.';
  return '';
}
