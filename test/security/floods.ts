/**
 * Floods, each beside an honest client whose calls are timed: what the flood sent, how it ended, and how much slower the
 * honest calls were than without it. The figures are ratios, because absolute times say more of the host than of the server.
 */
import { connect as connectHttp2, constants } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface FloodTarget {
  readonly httpUrl: string;
  readonly grpcAddress: string;
  /** An admin's. */
  readonly token: string;
  /** How long a connection may be open without a request, as the server is configured. */
  readonly idleSeconds: number;
}

export interface FloodRow {
  readonly flood: string;
  readonly sent: string;
  readonly outcome: string;
  /** The median time of an honest call during the flood, as a multiple of that before it. */
  readonly slowdown: number;
  /** Honest calls that failed. */
  readonly failed: number;
}

export interface FloodOptions {
  /** One is what `npm test` sends; the long run sends more. */
  readonly scale: number;
}

type Flood = (target: FloodTarget, scale: number) => Promise<Pick<FloodRow, 'sent' | 'outcome'>>;

const FLOODS: Readonly<Record<string, Flood>> = {
  'large bodies without a token': largeBodies,
  'wrong tokens, each another one': wrongTokens,
  'streams that are reset at once (HTTP/2 rapid reset)': rapidReset,
  'connections without a request': (target, scale) => silentConnections(target, 100 * scale, ''),
  'headers that arrive byte by byte': (target, scale) =>
    silentConnections(target, 50 * scale, 'GET / HTTP/1.1\r\nHost:'),
  'answers that no one reads': unreadAnswers,
};

export async function floods(target: FloodTarget, { scale }: FloodOptions): Promise<FloodRow[]> {
  const rows: FloodRow[] = [];
  for (const [flood, run] of Object.entries(FLOODS)) {
    const quiet = await honestCalls(target, sleep(500));
    const under = run(target, scale);
    const busy = await honestCalls(target, under);
    const slowdown = Math.round((median(busy.times) / median(quiet.times)) * 10) / 10;
    rows.push({ flood, ...(await under), slowdown, failed: busy.failed });
  }
  return rows;
}

/** Calls one after the other until the flood is over, at least five. */
async function honestCalls({ httpUrl, token }: FloodTarget, over: Promise<unknown>) {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  over.then(end, end);
  const times: number[] = [];
  let failed = 0;
  while (!isOver || times.length < 5) {
    const startedAt = performance.now();
    const answer = await fetch(`${httpUrl}/api/v1/nodes`, {
      headers: { authorization: `Bearer ${token}` },
    }).catch(() => null);
    await answer?.arrayBuffer();
    if (answer?.status !== 200) failed += 1;
    times.push(performance.now() - startedAt);
    await sleep(5);
  }
  return { times, failed };
}

function median(times: readonly number[]): number {
  return times.toSorted((left, right) => left - right)[Math.floor(times.length / 2)] ?? 0;
}

async function counted(answers: ReadonlyArray<Promise<string>>): Promise<string> {
  const counts = new Map<string, number>();
  for (const answer of await Promise.all(answers)) counts.set(answer, (counts.get(answer) ?? 0) + 1);
  return [...counts].map(([answer, count]) => `${count} × ${answer}`).join(', ');
}

async function largeBodies({ httpUrl }: FloodTarget, scale: number) {
  const labels = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`key${n}`, 'v'.repeat(20)]));
  const body = JSON.stringify({ machine: { machineId: 'x', labels } });
  const count = 8 * scale;
  const answers = Array.from({ length: count }, () =>
    fetch(`${httpUrl}/baremetal.v2.MachineService/RegisterMachine`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    }).then(
      (answer) => String(answer.status),
      () => 'no answer',
    ),
  );
  return { sent: `${count} of ${(body.length / 1e6).toFixed(1)} MB`, outcome: await counted(answers) };
}

async function wrongTokens({ httpUrl }: FloodTarget, scale: number) {
  const count = 300 * scale;
  const answers = Array.from({ length: count }, (_, n) =>
    fetch(`${httpUrl}/api/v1/nodes`, { headers: { authorization: `Bearer ${n}-guess` } }).then(
      (answer) => String(answer.status),
      () => 'no answer',
    ),
  );
  return { sent: `${count} calls`, outcome: await counted(answers) };
}

/** Until the server closes the connection, or it has taken far too many. */
async function rapidReset({ grpcAddress }: FloodTarget, scale: number) {
  let sent = 0;
  const session = connectHttp2(`http://${grpcAddress}`);
  let code: number | null = null;
  session.on('error', () => {});
  session.on('goaway', (given) => {
    code = given;
  });
  const closed = new Promise<void>((resolve) => session.once('close', () => resolve()));
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
  const isClosed = await Promise.race([closed.then(() => true), sleep(2_000).then(() => false)]);
  session.destroy();
  return {
    sent: `${sent} streams`,
    outcome: isClosed ? `closed by the server, GOAWAY ${code ?? 'none'}` : 'still open',
  };
}

/** On both ports, with a byte now and then after `start`. */
async function silentConnections(
  { httpUrl, grpcAddress, idleSeconds }: FloodTarget,
  count: number,
  start: string,
) {
  const ports = [new URL(httpUrl).port, ...(start === '' ? [grpcAddress.split(':')[1]] : [])].map(Number);
  const startedAt = performance.now();
  const closings: number[] = [];
  const sockets: Socket[] = [];
  for (const port of ports) {
    for (let n = 0; n < count; n += 1) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      socket.on('close', () => closings.push((performance.now() - startedAt) / 1000));
      socket.resume();
      if (start !== '') socket.write(start);
      sockets.push(socket);
    }
  }
  const drip = setInterval(() => {
    if (start !== '') for (const socket of sockets) if (socket.writable) socket.write('x');
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
async function unreadAnswers({ httpUrl, token }: FloodTarget, scale: number) {
  const count = 20 * scale;
  const asked = 200;
  const before = process.memoryUsage().rss;
  const { port } = new URL(httpUrl);
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(Number(port), '127.0.0.1');
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
