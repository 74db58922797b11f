/** As much of a server as machines need to be installed: boot scripts, boot files, one image a machine, and what takes reports. */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { GUEST_SERVER } from '../parts/qemu.ts';

export interface Report {
  readonly mac_address: string;
  readonly ip_address?: string;
  readonly hostname?: string;
  readonly vendor?: string;
  readonly installation_status?: string;
  readonly installation_progress?: number;
  readonly installation_error?: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test knows what it searches for
  readonly inventory?: any;
  /** What was read back from the disk, with `complete`. */
  readonly evidence?: Readonly<Record<string, unknown>>;
  /** What the installed system found, in base64, by the names of files. */
  readonly seed?: Readonly<Record<string, string>>;
}

/** What the server does with one machine, and what it received from it. */
export interface Expected {
  /** Answers of the image's address, the last of them again and again. */
  readonly images: readonly Buffer[];
  readonly sha256: string;
  /** The first answer ends after so many bytes, without warning. */
  readonly cutAfter?: number;
  /** As a workflow may add them to the command line. */
  readonly extraWords?: string;
  /** What each report is answered with. */
  readonly reportStatus?: number;
  /** Files of a seed for cloud-init. */
  readonly seed?: Readonly<Record<string, string>>;
}

export interface BootRecord {
  readonly expected: Expected;
  readonly reports: Report[];
  /** Paths that were asked for. */
  readonly requests: string[];
  installed: boolean;
}

export interface BootServer {
  readonly port: number;
  expect(mac: string, expected: Expected): BootRecord;
  stop(): Promise<void>;
}

export const TOKEN = 'boot-token-Iex3ohpa';

export async function startBootServer(installerDir: string): Promise<BootServer> {
  const machines = new Map<string, BootRecord>();
  const server = createServer((request, response) => {
    answer(request, response).catch((error) => response.writeHead(500).end(String(error)));
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', GUEST_SERVER);
    if (url.pathname === '/api/v1/report') return takeReport(request, response);
    if (url.pathname.startsWith('/api/v1/boot/')) return sendSeed(request, response, url.pathname);
    const mac = url.searchParams.get('mac')?.replaceAll('-', ':') ?? null;
    const record = machines.get(mac ?? url.pathname.split('/').at(-1) ?? '');
    record?.requests.push(`${url.pathname}${request.headers.range === undefined ? '' : ' from the middle'}`);
    if (url.pathname === '/api/v1/boot' && record !== undefined && mac !== null) {
      response.end(record.installed ? FROM_DISK : installScript(mac, record.expected));
    } else if (url.pathname.startsWith('/images/') && record !== undefined) {
      sendImage(request, response, record);
    } else if (/^\/boot\/installer\/(vmlinuz|initrd\.gz)$/.test(url.pathname)) {
      response.end(readFileSync(join(installerDir, url.pathname.slice('/boot/installer/'.length))));
    } else {
      response.writeHead(404).end();
    }
  }

  /** Only one machine at a time is installed with a seed here. */
  function sendSeed(request: IncomingMessage, response: ServerResponse, path: string): void {
    const { seed } = [...machines.values()].find(({ expected }) => expected.seed)?.expected ?? {};
    const text = seed?.[path.slice('/api/v1/boot/'.length)];
    response.writeHead(isOurs(request) ? (text === undefined ? 404 : 200) : 403).end(text);
  }

  async function takeReport(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const part of request.setEncoding('utf8')) body += part;
    const report: Report = JSON.parse(body);
    const record = machines.get(report.mac_address);
    const isInstalling = report.installation_status !== undefined;
    if (record === undefined || (isInstalling && !isOurs(request))) {
      response.writeHead(401).end();
      return;
    }
    record.reports.push(report);
    if (report.installation_status === 'complete') record.installed = true;
    response.writeHead(record.expected.reportStatus ?? 200).end('{}');
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    expect: (mac, expected) => {
      const record: BootRecord = { expected, reports: [], requests: [], installed: false };
      machines.set(mac, record);
      return record;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const FROM_DISK = '#!ipxe\nsanboot --no-describe --drive 0x80 || exit\n';

function installScript(mac: string, { images, sha256, extraWords = '' }: Expected): string {
  const words = [
    'console=ttyS0 quiet',
    `ingot.url=${GUEST_SERVER}`,
    `ingot.mac=${mac.replaceAll(':', '-').toUpperCase()}`,
    `ingot.token=${TOKEN}`,
    `ingot.image=${GUEST_SERVER}/images/${mac}`,
    `ingot.sha256=${sha256}`,
    `ingot.size=${images[0]?.length ?? 0}`,
    extraWords,
  ];
  const files = `${GUEST_SERVER}/boot/installer`;
  return `#!ipxe\nkernel ${files}/vmlinuz initrd=initrd.gz ${words.join(' ')}\ninitrd ${files}/initrd.gz\nboot\n`;
}

function sendImage(
  request: IncomingMessage,
  response: ServerResponse,
  { expected, requests }: BootRecord,
): void {
  if (!isOurs(request)) {
    response.writeHead(401).end();
    return;
  }
  const asked = requests.filter((path) => path.startsWith('/images/')).length;
  const image = expected.images[Math.min(asked, expected.images.length) - 1] ?? Buffer.alloc(0);
  const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
  const range = from === 0 ? {} : { 'content-range': `bytes ${from}-${image.length - 1}/${image.length}` };
  response.writeHead(from === 0 ? 200 : 206, { 'content-length': image.length - from, ...range });
  if (expected.cutAfter === undefined || asked > 1) {
    response.end(image.subarray(from));
    return;
  }
  response.write(image.subarray(0, expected.cutAfter), () => response.socket?.end());
}

function isOurs(request: IncomingMessage): boolean {
  return request.headers.authorization === `Bearer ${TOKEN}`;
}
