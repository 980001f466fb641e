// A server that reads a template from the disk, synchronously, for each request. Its clients are in the same process.
'use strict';
const fs = require('fs');
const http = require('http');

function render(name) {
  const template = fs.readFileSync(__filename, 'utf8');
  return template.length + name;
}

function answer(request, response) {
  fs.appendFileSync('/tmp/server.log', request.url + '\n');
  response.end(render(request.url));
}

const server = http.createServer(answer).listen(0, '127.0.0.1', () => {
  const ask = () => http.get({ port: server.address().port, path: '/a' }, (r) => r.resume().on('end', ask));
  for (let i = 0; i < 4; i++) ask();
});
