// A client in a thread of its own: what it costs to make and send a request is not the server's. It keeps requests that
// were handed over before, and sends one when its number comes.
import { request } from 'node:http';
import { connect } from 'node:http2';
import { parentPort, workerData } from 'node:worker_threads';

const { httpUrl, grpcAddress } = workerData;
const kept = new Map();

parentPort.on('message', async ({ number, keep }) => {
  if (keep) kept.set(number, keep);
  const { surface, ...given } = kept.get(number);
  const status = keep ? 'kept' : await (surface === 'gRPC' ? overGrpc(given) : overHttp(given));
  parentPort.postMessage({ number, status });
});

/** A connection for each, so that one that the server closes is no other's. */
function overHttp({ method, path, headers, body }) {
  return new Promise((resolve) => {
    const sent = request(`${httpUrl}${path}`, { method, headers, agent: false }, (answer) => {
      answer.resume();
      answer.on('close', () => resolve(String(answer.statusCode)));
    });
    sent.on('error', () => resolve('closed'));
    sent.end(body);
  });
}

function overGrpc({ path, headers, body }) {
  return new Promise((resolve) => {
    const session = connect(`http://${grpcAddress}`);
    session.on('error', () => resolve('closed'));
    const stream = session.request({ ':method': 'POST', ':path': path, ...headers });
    let status = 'closed';
    const note = (answered) => {
      status = `gRPC ${answered['grpc-status'] ?? status}`;
    };
    stream.on('response', (answered) => answered['grpc-status'] && note(answered));
    stream.on('trailers', note);
    stream.on('error', () => {});
    stream.on('close', () => {
      session.close();
      resolve(status);
    });
    stream.resume();
    stream.end(body);
  });
}
