/** What machines fetch while they boot. Every fetch is recorded: when, from where, what was served. */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { invalidField } from '../../domain/error/fault.ts';
import { knownArch } from '../../domain/install/architecture.ts';
import { macProblem, normalMac } from '../../domain/install/node.ts';
import { lenientLine } from '../../operations/lenient.ts';
import { diskScript, whoAreYouScript } from '../../operations/nodes/boot-script.ts';
import { type BootDependencies, bootScript } from '../../operations/nodes/node-boot.ts';
import type { BootFetchLog, FetchKind, NewBootFetch } from '../../store/nodes/boot-fetches.ts';
import type { RestDependencies } from './rest-errors.ts';
import { sendFile } from './send-file.ts';

export interface BootRouteDependencies extends RestDependencies {
  readonly nodes: BootDependencies;
  readonly fetches: BootFetchLog;
  /** How machines reach this server; null: as they did when they asked. */
  readonly baseUrl: string | null;
}

/** What firmware loads first: the site's own file, or that of Debian's package ipxe, which has none for ARM. */
const LOADERS = {
  'boot.efi': '/usr/lib/ipxe/snponly.efi',
  'boot-arm64.efi': '/usr/lib/ipxe/snponly-arm64.efi',
} as const;
const PLATFORMS: Readonly<Record<string, 'bios' | 'uefi'>> = { pcbios: 'bios', efi: 'uefi' };
const TRACE_ID = /^[A-Za-z0-9_-]{12}$/;
const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

export function bootRoutes(app: FastifyInstance, parts: BootRouteDependencies): void {
  app.get('/api/v1/boot', async (request, reply) => {
    const baseUrl = baseUrlOf(parts, request);
    const given = textIn(request, 'mac');
    if (given === '') return askWho(parts, request, reply, baseUrl);
    const mac = normalMac(given);
    if (mac === null) {
      parts.fetches.record({ ...fetchOf(request), served: 'refused', reason: 'not a MAC address' });
      throw invalidField('mac', macProblem(given) ?? 'is not valid');
    }
    const failed = textIn(request, 'failed');
    const { script, ...answer } = await bootScript(parts.nodes, {
      mac,
      baseUrl,
      arch: knownArch(textIn(request, 'arch')),
      bootMode: PLATFORMS[textIn(request, 'platform')] ?? null,
      serialNumber: lineIn(request, 'serial', 255),
      systemUuid: lineIn(request, 'uuid', 64),
      isAnswer: textIn(request, 'asked') !== '',
      failed: TRACE_ID.test(failed) ? failed : null,
    });
    return sendScript(parts, request, reply, script, { ...answer, macAddress: mac });
  });

  /** An iPXE that was loaded from here looks for its script beside itself. */
  app.get('/boot/autoexec.ipxe', async (request, reply) =>
    askWho(parts, request, reply, baseUrlOf(parts, request)),
  );

  /** Kernels and installers: the same for everybody, so nothing in them may be secret. */
  app.get<{ Params: { '*': string } }>('/boot/*', async (request, reply) => {
    const path = request.params['*'];
    return sendBootFile(parts, request, reply, { root: parts.nodes.bootDir, path }, kindOf(path));
  });

  for (const [name, packaged] of Object.entries(LOADERS)) {
    app.get(`/boot/${name}`, async (request, reply) => {
      const root = parts.nodes.bootDir;
      const isOwn = existsSync(join(root, name)) || !existsSync(packaged);
      const file = isOwn ? { root, path: name } : { root: join(packaged, '..'), path: basename(packaged) };
      return sendBootFile(parts, request, reply, file, 'loader');
    });
  }
}

/** What firmware says is read as reports are: what is too long or odd never costs the boot. */
function lineIn(request: FastifyRequest, name: string, max: number): string {
  return lenientLine(max)(textIn(request, name), name, () => {}) ?? '';
}

/** An iPXE that was asked and has no answer would be asked for ever. */
function askWho(
  parts: BootRouteDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  baseUrl: string,
): FastifyReply {
  if (textIn(request, 'asked') === '')
    return sendScript(parts, request, reply, whoAreYouScript(baseUrl), { served: 'question' });
  const reason = 'the MAC address of the interface that booted is not known';
  return sendScript(parts, request, reply, diskScript(reason), { served: 'disk', reason });
}

function sendScript(
  { fetches }: BootRouteDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  script: string,
  what: Partial<NewBootFetch>,
): FastifyReply {
  const totalBytes = Buffer.byteLength(script);
  const fetch = { ...fetchOf(request), ...what, totalBytes };
  reply.raw.once('close', () => {
    const complete = reply.raw.writableFinished;
    fetches.record({ ...fetch, bytes: complete ? totalBytes : 0, complete });
  });
  return reply.type('text/plain; charset=utf-8').header('cache-control', 'no-store').send(script);
}

async function sendBootFile(
  { fetches }: BootRouteDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  file: { readonly root: string; readonly path: string },
  kind: FetchKind,
): Promise<FastifyReply> {
  const traceId = textIn(request, 'boot');
  const what = {
    ...fetchOf(request),
    kind,
    served: file.path,
    traceId: TRACE_ID.test(traceId) ? traceId : '',
  };
  const answer = await sendFile(request, reply, file, (sent) => fetches.record({ ...what, ...sent }));
  if (reply.statusCode === 404) fetches.record({ ...what, reason: 'there is no such file' });
  return answer;
}

/** By the name that workflows give such files; whatever else is fetched is a file. */
function kindOf(path: string): FetchKind {
  const name = basename(path);
  if (/^(vmlinuz|linux|bzImage|Image|kernel)/i.test(name)) return 'kernel';
  return /^(initrd|initramfs)/i.test(name) ? 'initrd' : 'file';
}

/** A fetch of which nothing is known yet but who asked. A connection that has ended does not tell any more. */
export function fetchOf({ ip }: { readonly ip: string | undefined }): NewBootFetch {
  return {
    machineId: '',
    bootNo: null,
    traceId: '',
    macAddress: '',
    address: (ip ?? '').replace(/^::ffff:(?=\d+\.)/, ''),
    at: new Date(),
    kind: 'script',
    served: '',
    reason: '',
    bytes: 0,
    totalBytes: null,
    complete: false,
  };
}

/** One that is given twice is neither: it fits no rule. */
function textIn({ query }: FastifyRequest, name: string): string {
  const value: unknown = (query as Readonly<Record<string, unknown>>)[name];
  return Array.isArray(value) ? value.join(',') : typeof value === 'string' ? value : '';
}

export function baseUrlOf({ baseUrl }: BootRouteDependencies, request: FastifyRequest): string {
  if (baseUrl !== null) return baseUrl;
  const { host } = request.headers;
  if (host !== undefined && HOST.test(host)) return `http://${host}`;
  const { localAddress = '127.0.0.1', localPort = 80 } = request.socket;
  return `http://${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`;
}
