// SPDX-License-Identifier: GPL-2.0-or-later
// A report's flame graph has its values per slice of time, so that a range can be selected without a server.

// Returns a flame answer for the slices with their middle in [from, to].
export function sliceFlame(answer, from, to) {
  const { ns, node, slice, value } = answer.slices;
  const count = answer.nodes.parent.length;
  const self = new Array(count).fill(0);
  for (let i = 0; i < node.length; i++) {
    const middle = (slice[i] + 0.5) * ns;
    if (middle >= from && middle <= to) self[node[i]] += value[i];
  }
  const total = self.slice();
  for (let i = count - 1; i > 0; i--) total[answer.nodes.parent[i]] += total[i];
  return { ...answer, total: total[0], nodes: { ...answer.nodes, self, total }, dropped: { nodes: 0, value: 0 } };
}

// Returns the table of functions of a flame answer. A function counts once per stack, however often it is in it.
export function sliceFunctions({ unit, total, names, modules, nodes }) {
  const rows = new Map();
  const keys = nodes.parent.map((_, i) => `${nodes.name[i]} ${nodes.module[i]}`);
  for (let i = 1; i < keys.length; i++) {
    if (!nodes.total[i]) continue;
    if (!rows.has(keys[i]))
      rows.set(keys[i], {
        name: names[nodes.name[i]],
        module: modules[nodes.module[i]],
        self: 0,
        total: 0,
        samples: null,
      });
    const row = rows.get(keys[i]);
    row.self += nodes.self[i];
    if (!sliceIsInside(nodes.parent, keys, i)) row.total += nodes.total[i];
  }
  return { unit, total, rows: [...rows.values()].sort((a, b) => b.self - a.self) };
}

function sliceIsInside(parent, keys, node) {
  for (let i = parent[node]; i > 0; i = parent[i]) if (keys[i] === keys[node]) return true;
  return false;
}
