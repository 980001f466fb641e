// SPDX-License-Identifier: GPL-2.0-or-later
// A flame graph's nodes in typed arrays: where each lies, what is below it, and what a search finds.

import { hashText } from './format.js';

// Returns the model of a flame answer. Widths come from values of leaves: where a value is negative (memory that was freed), it has none.
export function modelMake(answer) {
  const { nodes, names, modules } = answer;
  const count = nodes.parent.length;
  const model = {
    unit: answer.unit,
    states: answer.states,
    names,
    modules,
    count,
    dropped: answer.dropped ?? { nodes: 0, value: 0 },
    sum: answer.total,
    aTotal: answer.a_total,
    bTotal: answer.b_total,
    name: Int32Array.from(nodes.name),
    module: Int32Array.from(nodes.module),
    parent: Int32Array.from(nodes.parent),
    self: Float64Array.from(nodes.self),
    total: Float64Array.from(nodes.total),
    kind: Uint8Array.from(nodes.kind),
    state: nodes.state ?? null,
  };
  for (const column of ['a', 'b', 'p', 'lo', 'hi', 'significant']) if (nodes[column]) model[column] = nodes[column];
  modelMeasure(model);
  modelPlace(model);
  modelIdentify(model);
  if (model.state) modelAddStates(model);
  return model;
}

// Returns an answer without its root, if there is one node below it: that one is the root then.
export function modelWithoutRoot(answer) {
  const { nodes } = answer;
  if (nodes.parent.filter((parent) => parent === 0).length !== 1) return answer;
  const columns = Object.entries(nodes).map(([name, values]) => [name, values?.slice(1) ?? null]);
  return {
    ...answer,
    nodes: { ...Object.fromEntries(columns), parent: nodes.parent.slice(1).map((parent) => parent - 1) },
  };
}

// Returns an answer with every stack leaf first: below each function that ran are those that called it.
export function modelInvert(answer) {
  const { nodes } = answer;
  const count = nodes.parent.length;
  const out = {
    name: [nodes.name[0]],
    module: [nodes.module[0]],
    parent: [-1],
    self: [0],
    total: [0],
    kind: [nodes.kind[0]],
    state: nodes.state ? [null] : null,
  };
  const children = new Map();
  const place = (node, parent, state) => {
    const key = parent * 2 ** 26 + nodes.name[node] * 2 ** 5 + (nodes.kind[node] & 31);
    const found = children.get(key)?.find((i) => out.module[i] === nodes.module[node]);
    if (found !== undefined) return found;
    const made = out.name.push(nodes.name[node]) - 1;
    for (const column of ['module', 'kind']) out[column].push(nodes[column][node]);
    out.state?.push(state);
    out.parent.push(parent);
    out.self.push(0);
    out.total.push(0);
    children.set(key, [...(children.get(key) ?? []), made]);
    return made;
  };
  for (let leaf = 0; leaf < count; leaf++) {
    const value = nodes.self[leaf];
    if (!value) continue;
    let at = 0;
    out.total[0] += value;
    const state = nodes.state?.[leaf]; // of the whole stack: a node has the self values of its last callers
    for (let i = leaf; i > 0; i = nodes.parent[i]) out.total[(at = place(i, at, state))] += value;
    out.self[at] += value;
  }
  return { ...answer, nodes: out };
}

// Width and depth of each node. Parents come before their children.
function modelMeasure(model) {
  const { count, parent } = model;
  model.width = new Float64Array(count);
  model.depth = new Uint16Array(count);
  for (let i = 0; i < count; i++) model.width[i] = Math.max(0, model.self[i]);
  for (let i = count - 1; i > 0; i--) model.width[parent[i]] += model.width[i];
  for (let i = 1; i < count; i++) model.depth[i] = model.depth[parent[i]] + 1;
}

// Children next to each other in `children`, the widest first; rows of equal depth from left to right.
function modelPlace(model) {
  const { count, parent, width } = model;
  const first = (model.first = new Int32Array(count + 1));
  for (let i = 1; i < count; i++) first[parent[i] + 1]++;
  for (let i = 0; i < count; i++) first[i + 1] += first[i];
  const next = first.slice();
  const children = (model.children = new Int32Array(Math.max(0, count - 1)));
  for (let i = 1; i < count; i++) children[next[parent[i]]++] = i;
  model.x = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const own = children.subarray(first[i], first[i + 1]);
    if (own.length > 1) own.sort((a, b) => width[b] - width[a] || a - b);
    let x = model.x[i];
    for (const child of own) {
      model.x[child] = x;
      x += width[child];
    }
  }
  model.rows = modelRows(model);
}

function modelRows({ count, first, children, width }) {
  const rows = [];
  let row = count ? [0] : [];
  while (row.length) {
    rows.push(Int32Array.from(row));
    const below = [];
    for (const node of row)
      for (let c = first[node]; c < first[node + 1]; c++) if (width[children[c]] > 0) below.push(children[c]);
    row = below;
  }
  return rows;
}

// A node's identity is its path: it stays the same when the selection changes, so the URL can name it.
function modelIdentify(model) {
  const nameHash = model.names.map((name) => hashText(name ?? ''));
  const path = (model.path = new Uint32Array(model.count));
  for (let i = 1; i < model.count; i++) {
    path[i] = Math.imul(path[model.parent[i]] ^ nameHash[model.name[i]], 0x9e3779b1) >>> 0;
  }
}

export function modelFind(model, id) {
  if (!id) return 0;
  const wanted = parseInt(id, 36) >>> 0;
  return Math.max(0, model.path.indexOf(wanted));
}

export function modelId(model, node) {
  return node ? model.path[node].toString(36) : '';
}

function modelAddStates(model) {
  const states = model.states.length;
  const byState = (model.byState = new Float64Array(model.count * states));
  for (let i = model.count - 1; i >= 0; i--) {
    const state = model.state[i];
    if (state !== null && state >= 0) byState[i * states + state] += model.self[i];
    if (i) for (let s = 0; s < states; s++) byState[model.parent[i] * states + s] += byState[i * states + s];
  }
}

// Returns a test for names: the regular expression, or the plain text where it is not one. Lower-case text matches any case.
export function modelPattern(text) {
  const flags = text === text.toLowerCase() ? 'i' : '';
  try {
    return { pattern: new RegExp(text, flags), valid: true };
  } catch {
    return { pattern: new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), flags), valid: false };
  }
}

// Returns { matched: one byte per node, nodes, share: of the whole that lies under matches, each counted once }.
export function modelSearch(model, text) {
  const { pattern, valid } = modelPattern(text);
  const nameHit = model.names.map((name) => pattern.test((name ?? '').slice(0, 5000)));
  const moduleHit = model.modules.map((module) => Boolean(module) && pattern.test(module));
  const matched = new Uint8Array(model.count);
  const below = new Uint8Array(model.count);
  let nodes = 0;
  let width = 0;
  for (let i = 1; i < model.count; i++) {
    matched[i] = nameHit[model.name[i]] || moduleHit[model.module[i]] ? 1 : 0;
    const inside = below[model.parent[i]];
    below[i] = matched[i] | inside;
    nodes += matched[i];
    if (matched[i] && !inside) width += model.width[i];
  }
  return { matched, nodes, share: model.width[0] ? width / model.width[0] : 0, valid };
}

export function modelName(model, node) {
  const name = model.names[model.name[node]] ?? '[no symbol]';
  return node || name ? name : 'all';
}

export function modelModule(model, node) {
  return model.modules[model.module[node]] ?? '';
}

// Returns the nodes from the root to this one.
export function modelPath(model, node) {
  const path = [];
  for (let i = node; i > 0; i = model.parent[i]) path.push(i);
  return path.reverse();
}

// Returns the nodes from this one down along the widest child.
export function modelHeaviest(model, node, limit = 40) {
  const path = [];
  for (let i = node; path.length < limit && model.first[i] < model.first[i + 1];) {
    i = model.children[model.first[i]];
    if (!model.width[i]) break;
    path.push(i);
  }
  return path;
}
