/**
 * Floods, each beside an honest client whose calls are timed: what the flood sent, how it ended, and how much slower the
 * honest calls were than without it. The figures are ratios, because absolute times say more of the host than of the server.
 */
import { readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { connect as connectHttp2, constants } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';

export interface FloodTarget {
  readonly httpUrl: string;
  readonly grpcAddress: string;
  /** An admin's. */
  readonly token: string;
  /** How long a connection may be open without a request, as the server is configured. */
  readonly idleSeconds: number;
  /** Of the server's authority, where it has TLS. */
  readonly ca?: Buffer;
}

export interface FloodRow {
  readonly flood: string;
  readonly sent: string;
  readonly outcome: string;
  /** The median time of an honest call during the flood, as a multiple of that before it. */
  readonly slowdown: number;
  /** Honest calls that failed. */
  readonly failed: number;
  /** Those that failed after longer than a connection may be open without a request: this host was late to send them. */
  readonly late: number;
}

export interface FloodOptions {
  /** One is what `npm test` sends; the long run sends more. */
  readonly scale: number;
}

type Flood = (target: FloodTarget, scale: number) => Promise<Pick<FloodRow, 'sent' | 'outcome'>>;

const FLOODS: Readonly<Record<string, Flood>> = {
  'large bodies without a token': largeBodies,
  'wrong tokens, each another one': wrongTokens,
  'streams that are reset at once (HTTP/2 rapid reset)': (target, scale) =>
    rapidReset(target, scale, target.ca ? `https://${target.grpcAddress}` : `http://${target.grpcAddress}`),
  'connections without a request': (target, scale) => silentConnections(target, 100 * scale, ''),
  'headers that arrive byte by byte': (target, scale) =>
    silentConnections(target, 50 * scale, 'GET / HTTP/1.1\r\nHost:'),
  'answers that no one reads': unreadAnswers,
};

/** What only a server with TLS has: handshakes, and HTTP/2 on its HTTP port. */
const TLS_FLOODS: Readonly<Record<string, Flood>> = {
  'TLS handshakes that stop half-way': (target, scale) =>
    silentConnections(target, 100 * scale, CLIENT_HELLO),
  'streams of the HTTP port that are reset at once': (target, scale) =>
    rapidReset(target, scale, target.httpUrl),
};

/** The start of a ClientHello that never ends. */
const CLIENT_HELLO = Buffer.from('16030101000100', 'hex').toString('latin1');

export async function floods(target: FloodTarget, { scale }: FloodOptions): Promise<FloodRow[]> {
  const rows: FloodRow[] = [];
  const suffix = target.ca ? ' (TLS)' : '';
  const all = { ...FLOODS, ...(target.ca && TLS_FLOODS) };
  for (const [name, run] of Object.entries(all)) {
    const flood = `${name}${suffix}`;
    const quiet = await honestCalls(target, sleep(500));
    const under = run(target, scale);
    const busy = await honestCalls(target, under);
    const slowdown = Math.round((median(busy.times) / median(quiet.times)) * 10) / 10;
    rows.push({ flood, ...(await under), slowdown, failed: busy.failed, late: busy.late });
  }
  return rows;
}

/** Calls one after the other until the flood is over, at least five. */
async function honestCalls(target: FloodTarget, over: Promise<unknown>) {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  over.then(end, end);
  const times: number[] = [];
  let failed = 0;
  let late = 0;
  while (!isOver || times.length < 5) {
    const startedAt = performance.now();
    const isAnswered = (await send(target, '/api/v1/nodes', { token: target.token })) === '200';
    const elapsedMs = performance.now() - startedAt;
    times.push(elapsedMs);
    if (!isAnswered && elapsedMs > target.idleSeconds * 1000) late += 1;
    else if (!isAnswered) failed += 1;
    await sleep(5);
  }
  return { times, failed, late };
}

interface Sent {
  readonly token?: string;
  readonly body?: string;
}

/** The status of the answer, once it has been read. Each call has a connection of its own, as those of strangers have. */
function send({ httpUrl, ca }: FloodTarget, path: string, { token, body }: Sent): Promise<string> {
  const headers = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  const method = body === undefined ? 'GET' : 'POST';
  const options = { method, headers, agent: false, ...(ca && { ca }) };
  return new Promise((resolve) => {
    const call = (ca ? httpsRequest : httpRequest)(`${httpUrl}${path}`, options, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(String(answer.statusCode)));
    });
    call.on('error', () => resolve('no answer'));
    call.end(body);
  });
}

function median(times: readonly number[]): number {
  return times.toSorted((left, right) => left - right)[Math.floor(times.length / 2)] ?? 0;
}

async function counted(answers: ReadonlyArray<Promise<string>>): Promise<string> {
  const counts = new Map<string, number>();
  for (const answer of await Promise.all(answers)) counts.set(answer, (counts.get(answer) ?? 0) + 1);
  return [...counts].map(([answer, count]) => `${count} × ${answer}`).join(', ');
}

async function largeBodies(target: FloodTarget, scale: number) {
  const labels = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`key${n}`, 'v'.repeat(20)]));
  const body = JSON.stringify({ machine: { machineId: 'x', labels } });
  const count = 8 * scale;
  const answers = Array.from({ length: count }, () =>
    send(target, '/baremetal.v2.MachineService/RegisterMachine', { body }),
  );
  return { sent: `${count} of ${(body.length / 1e6).toFixed(1)} MB`, outcome: await counted(answers) };
}

async function wrongTokens(target: FloodTarget, scale: number) {
  const count = 300 * scale;
  const answers = Array.from({ length: count }, (_, n) =>
    send(target, '/api/v1/nodes', { token: `${n}-guess` }),
  );
  return { sent: `${count} calls`, outcome: await counted(answers) };
}

/** Until the server closes the connection, or it has taken far too many. */
async function rapidReset({ ca }: FloodTarget, scale: number, url: string) {
  let sent = 0;
  const session = connectHttp2(url, ca && { ca });
  let code: number | null = null;
  session.on('error', () => {});
  session.on('goaway', (given) => {
    code = given;
  });
  await new Promise((resolve) => session.once('connect', resolve));
  const ports = { server: Number(new URL(url).port), client: session.socket.localPort ?? 0 };
  const limit = 5_000 * scale;
  while (!session.destroyed && !session.closed && sent < limit) {
    for (let burst = 0; burst < 50 && !session.destroyed && !session.closed; burst += 1) {
      const stream = session.request({
        ':method': 'POST',
        ':path': '/baremetal.v2.MachineService/ListMachines',
        'content-type': 'application/grpc',
        te: 'trailers',
      });
      stream.on('error', () => {});
      stream.close(constants.NGHTTP2_CANCEL);
      sent += 1;
    }
    await sleep(1);
  }
  let isClosed = !isOpenAtServer(ports);
  // The server is this process too: it has yet to read what was sent to it.
  for (let waited = 0; !isClosed && waited < 1_200; waited += 1) {
    await sleep(50);
    isClosed = !isOpenAtServer(ports);
  }
  session.destroy();
  return {
    sent: `${sent} streams`,
    outcome: isClosed ? `closed by the server, GOAWAY ${code ?? 'none'}` : 'still open',
  };
}

/**
 * By the system's table: a client that has floods of its own frames to write may see the end of its connection late, or not
 * at all. 01 is an established connection.
 */
function isOpenAtServer({ server, client }: { readonly server: number; readonly client: number }): boolean {
  const port = (number: number) => `:${number.toString(16).toUpperCase().padStart(4, '0')}`;
  return readFileSync('/proc/net/tcp', 'latin1')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .some(
      ([, local = '', remote = '', state]) =>
        state === '01' && local.endsWith(port(server)) && remote.endsWith(port(client)),
    );
}

/** On both ports, with a byte now and then after `start`. */
async function silentConnections(
  { httpUrl, grpcAddress, idleSeconds }: FloodTarget,
  count: number,
  start: string,
) {
  const isForBoth = start === '' || start === CLIENT_HELLO;
  const ports = [new URL(httpUrl).port, ...(isForBoth ? [grpcAddress.split(':')[1]] : [])].map(Number);
  const startedAt = performance.now();
  const closings: number[] = [];
  const sockets: Socket[] = [];
  for (const port of ports) {
    for (let n = 0; n < count; n += 1) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      socket.on('close', () => closings.push((performance.now() - startedAt) / 1000));
      socket.resume();
      if (start !== '') socket.write(start, 'latin1');
      sockets.push(socket);
    }
  }
  const drip = setInterval(() => {
    if (start !== '' && start !== CLIENT_HELLO)
      for (const socket of sockets) if (socket.writable) socket.write('x');
  }, 200);
  const deadline = performance.now() + (idleSeconds * 3 + 15) * 1000;
  while (closings.length < sockets.length && performance.now() < deadline) await sleep(50);
  clearInterval(drip);
  const open = sockets.length - closings.length;
  for (const socket of sockets) socket.destroy();
  const slowest = Math.max(...closings.slice(0, sockets.length - open), 0);
  return {
    sent: `${sockets.length} connections`,
    outcome: `${open} still open, the last one closed after ${slowest.toFixed(1)} s`,
  };
}

/** Asks for much on connections that it never reads from. What waits for them in the server is bounded. */
async function unreadAnswers({ httpUrl, token, ca }: FloodTarget, scale: number) {
  const count = 20 * scale;
  const asked = 200;
  const before = process.memoryUsage().rss;
  const { port } = new URL(httpUrl);
  const sockets = Array.from({ length: count }, () => {
    const at = { port: Number(port), host: '127.0.0.1' };
    const socket = ca ? connectTls({ ...at, ca, ALPNProtocols: ['http/1.1'] }) : connect(at);
    socket.on('error', () => {});
    socket.pause();
    const call = `GET /api/v1/nodes?limit=500 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    socket.write(call.repeat(asked));
    return socket;
  });
  await sleep(1_000);
  const grown = Math.max(0, process.memoryUsage().rss - before) / 1e6;
  for (const socket of sockets) socket.destroy();
  return {
    sent: `${count * asked} calls on ${count} connections`,
    outcome: `${grown.toFixed(0)} MB more memory`,
  };
}
