// SPDX-License-Identifier: GPL-2.0-or-later
// A report's flame graph has its values per slice of time, so that a range can be selected without a server.

// Returns a flame answer for the slices whose middle is in [from, to].
export function modelSlice(answer, from, to) {
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
