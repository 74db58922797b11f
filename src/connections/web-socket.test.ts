import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterEach, expect, it } from 'vitest';
import { openWebSocket } from './web-socket.ts';

let server: Server | undefined;
const agent = new Agent();
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  agent.destroy();
});

async function asked(onUpgrade: (request: IncomingMessage, socket: Duplex) => void, limitMs = 5_000) {
  server = createServer((_request, response) => response.writeHead(401).end()).listen(0, '127.0.0.1');
  server.on('upgrade', (request, socket) => {
    socket.on('error', () => {});
    onUpgrade(request, socket);
  });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const url = new URL(`http://127.0.0.1:${port}/console0`);
  const { signal } = new AbortController();
  return openWebSocket({ url, headers: {}, agent, limitMs, signal, checkPeer: () => {} });
}

const open =
  (...frames: readonly Buffer[]) =>
  ({ headers }: IncomingMessage, socket: Duplex) => {
    const accept = createHash('sha1')
      .update(`${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64');
    socket.write(
      `HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    socket.end(Buffer.concat(frames));
  };

async function read(answer: Awaited<ReturnType<typeof asked>>): Promise<{ text: string; reason: string }> {
  if (!answer.isOpen) throw new Error(`it answered ${answer.status}`);
  let text = '';
  for await (const bytes of answer.socket.output()) text += Buffer.from(bytes).toString('latin1');
  return { text, reason: answer.socket.closeReason };
}

it('hands on text and binary frames of any length, also in pieces, and the reason of the end', async () => {
  const long = Buffer.alloc(70_000, 'y');
  const head = Buffer.alloc(10);
  head.writeUInt8(0x80, 0);
  head.writeUInt8(127, 1);
  head.writeBigUInt64BE(70_000n, 2);
  const answer = await asked(
    open(
      Buffer.from([0x81, 2]),
      Buffer.from('ab'),
      head,
      long,
      Buffer.from([0x88, 5, 3, 0xe8]),
      Buffer.from('bye'),
    ),
  );
  expect(await read(answer)).toEqual({ text: `ab${long.toString()}`, reason: 'bye' });
});

it('ends at a frame that would have to be held and is too large', async () => {
  const head = Buffer.from([0x82, 127, 0, 0, 0, 1, 0, 0, 0, 0]);
  const { text, reason } = await read(await asked(open(head, Buffer.alloc(1000))));
  expect([text, reason]).toEqual(['', 'a frame has more than 1048576 bytes']);
});

it('is not open where the answer is of something else, and is waited for no longer than its limit', async () => {
  const wrong = await asked((_request, socket) =>
    socket.write(
      'HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n',
    ),
  );
  expect(wrong).toEqual({ isOpen: false, status: 101 });
  server?.closeAllConnections();
  const refused = await asked((_request, socket) =>
    socket.end('HTTP/1.1 401 X\r\nContent-Length: 0\r\n\r\n'),
  );
  expect(refused).toEqual({ isOpen: false, status: 401 });
  server?.closeAllConnections();
  await expect(asked(() => {}, 200)).rejects.toMatchObject({ reason: 'late' });
});
