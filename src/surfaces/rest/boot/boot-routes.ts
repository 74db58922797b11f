/** What machines fetch while they boot. Every fetch is recorded: when, from where, what was served. */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { invalidField } from '../../../domain/error/fault.ts';
import { knownArch } from '../../../domain/install/architecture.ts';
import { macProblem, normalMac } from '../../../domain/install/node.ts';
import { lenientLine } from '../../../operations/lenient.ts';
import { discPlan } from '../../../operations/nodes/boot/boot-media.ts';
import { diskScript, whoAreYouScript } from '../../../operations/nodes/boot/boot-script.ts';
import {
  type BootAnswer,
  type BootDependencies,
  bootScript,
} from '../../../operations/nodes/boot/node-boot.ts';
import { unifiedFiles } from '../../../operations/nodes/boot/unified-boot.ts';
import type { BootFetchLog, FetchKind, NewBootFetch } from '../../../store/nodes/boot-fetches.ts';
import { consumeBootUrl, machineOfBootUrl, readDiscByUrl } from '../../../store/nodes/boot-urls.ts';
import { findNode } from '../../../store/nodes/nodes.ts';
import { BOOT_ROUTES } from '../api/netboot-api.ts';
import { clientAddress } from '../client-address.ts';
import type { RestDependencies } from '../rest-errors.ts';
import { serveRoutes } from '../serve-routes.ts';
import { refuseBrowsers } from './machines-only.ts';
import { sendDisc } from './send-disc.ts';
import { isSent, sendFile } from './send-file.ts';
import { sendUnified, sendUnifiedSize } from './send-unified.ts';

export interface BootRouteDependencies extends RestDependencies {
  readonly nodes: BootDependencies;
  readonly fetches: BootFetchLog;
  /** How machines reach this server; null: at the address that they used for the request. */
  readonly baseUrl: string | null;
  /** How BMCs do; null: as machines. */
  readonly mediaUrl: string | null;
}

/** What firmware loads first: the site's own file, or that of Debian's package ipxe, which has none for ARM. */
const LOADERS = {
  'boot.efi': '/usr/lib/ipxe/snponly.efi',
  'boot-arm64.efi': '/usr/lib/ipxe/snponly-arm64.efi',
} as const;
const PLATFORMS: Readonly<Record<string, 'bios' | 'uefi'>> = { pcbios: 'bios', efi: 'uefi' };
const TRACE_ID = /^[A-Za-z0-9_-]{12}$/;
const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

export function bootRoutes(app: FastifyInstance, dependencies: BootRouteDependencies): void {
  const { bootDir } = dependencies.nodes;
  const loader = (name: keyof typeof LOADERS) => (call: BootCall) => {
    const packaged = LOADERS[name];
    const isOwn = existsSync(join(bootDir, name)) || !existsSync(packaged);
    const file = isOwn
      ? { root: bootDir, path: name }
      : { root: join(packaged, '..'), path: basename(packaged) };
    return sendBootFile(dependencies, call, file, 'loader');
  };
  serveRoutes(app, BOOT_ROUTES, dependencies, {
    script: (call) => answerScript(dependencies, call),
    autoexec: (call) => askForMac(dependencies, call, baseUrlOf(dependencies, call.request)),
    file: (call) => {
      const path = call.params['*'];
      return sendBootFile(dependencies, call, { root: bootDir, path }, kindOf(path));
    },
    onceInstaller: (call) => answerOnceInstaller(dependencies, call, call.params.secret),
    onceDisc: (call) => answerOnceDisc(dependencies, call, call.params.secret),
    onceWords: (call) => answerOnceWords(dependencies, call, call.params.secret),
    onceScript: (call) => answerOnce(dependencies, call, call.params.secret),
    onceLoader: (call) => answerOnceLoader(dependencies, call, call.params.secret, loader('boot.efi')),
    onceLoaderArm64: (call) =>
      answerOnceLoader(dependencies, call, call.params.secret, loader('boot-arm64.efi')),
    loader: loader('boot.efi'),
    loaderArm64: loader('boot-arm64.efi'),
  });
}

interface BootCall {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

async function answerScript(dependencies: BootRouteDependencies, call: BootCall): Promise<FastifyReply> {
  const { request } = call;
  refuseBrowsers(request);
  const baseUrl = baseUrlOf(dependencies, request);
  const given = textIn(request, 'mac');
  if (given === '') return askForMac(dependencies, call, baseUrl);
  const mac = normalMac(given);
  if (mac === null) {
    dependencies.fetches.record({ ...fetchOf(request), served: 'refused', reason: 'not a MAC address' });
    throw invalidField('mac', macProblem(given) ?? 'is not valid');
  }
  const failed = textIn(request, 'failed');
  const {
    script,
    words: _words,
    ...answer
  } = await bootScript(dependencies.nodes, {
    requestId: request.id,
    mac,
    baseUrl,
    address: clientAddress(request),
    by: 'mac',
    arch: knownArch(textIn(request, 'arch')),
    bootMode: PLATFORMS[textIn(request, 'platform')] ?? null,
    serialNumber: lineIn(request, 'serial', 255),
    systemUuid: lineIn(request, 'uuid', 64),
    isAnswer: textIn(request, 'asked') !== '',
    failed: TRACE_ID.test(failed) ? failed : null,
  });
  return sendScript(dependencies, call, script, { ...answer, macAddress: mac });
}

/** The script of a one-time URL, which is over with it. */
async function answerOnce(
  dependencies: BootRouteDependencies,
  call: BootCall,
  secret: string,
): Promise<FastifyReply> {
  const { request } = call;
  refuseBrowsers(request);
  // A request for the headers alone uses nothing up.
  if (request.method === 'HEAD') {
    const isThere = (await machineOfBootUrl(dependencies.nodes.database, secret)) !== null;
    return isThere ? call.reply.type('text/plain; charset=utf-8').send() : refuseOnce(dependencies, call);
  }
  const booted = await bootOnce(dependencies, call, secret, PLATFORMS[textIn(request, 'platform')] ?? null);
  if (booted === null) return refuseOnce(dependencies, call);
  const { script, words: _words, ...answer } = booted;
  return sendScript(dependencies, call, script, answer);
}

/** Null: unknown, used or expired. */
async function bootOnce(
  dependencies: BootRouteDependencies,
  { request }: BootCall,
  secret: string,
  bootMode: 'bios' | 'uefi' | null,
): Promise<(BootAnswer & { readonly macAddress: string }) | null> {
  const { nodes } = dependencies;
  const id = await consumeBootUrl(nodes.database, secret);
  const node = id === null ? null : await findNode(nodes.database, id);
  if (node === null) return null;
  const mac = node.macAddress;
  const answer = await bootScript(nodes, {
    requestId: request.id,
    mac,
    baseUrl: baseUrlOf(dependencies, request),
    address: clientAddress(request),
    by: 'url',
    arch: knownArch(textIn(request, 'arch')),
    bootMode,
    serialNumber: '',
    systemUuid: '',
    isAnswer: true,
    failed: null,
  });
  return { ...answer, macAddress: mac };
}

/** The installer of a one-time URL, which is over with it. A request for its size alone uses nothing up. */
async function answerOnceInstaller(
  dependencies: BootRouteDependencies,
  call: BootCall,
  secret: string,
): Promise<FastifyReply> {
  const { request, reply } = call;
  refuseBrowsers(request);
  const { nodes, fetches } = dependencies;
  const id = await machineOfBootUrl(nodes.database, secret);
  const node = id === null ? null : await findNode(nodes.database, id);
  const files = node && (await unifiedFiles(nodes, node));
  if (!files) return refuseOnce(dependencies, call);
  if (request.method === 'HEAD') return sendUnifiedSize(reply, files);
  const booted = await bootOnce(dependencies, call, secret, 'uefi');
  if (booted === null) return refuseOnce(dependencies, call);
  const { script: _script, words, ...answer } = booted;
  const fetch = { ...fetchOf(request), ...answer, kind: 'loader' } as const;
  if (words === null) {
    fetches.record(fetch);
    return reply.code(404).send({ detail: answer.reason });
  }
  const { totalBytes, sent } = await sendUnified(reply, files, words);
  reply.raw.once('close', () => {
    const complete = isSent(reply.raw);
    fetches.record({ ...fetch, totalBytes, bytes: complete ? totalBytes : 0, complete });
  });
  return sent;
}

/** The disc of a one-time URL. A BMC reads it in pieces: the first is recorded, and none uses anything up. */
async function answerOnceDisc(
  dependencies: BootRouteDependencies,
  call: BootCall,
  secret: string,
): Promise<FastifyReply> {
  const { request, reply } = call;
  const { nodes, fetches } = dependencies;
  const read = await readDiscByUrl(nodes.database, secret);
  const node = read && (await findNode(nodes.database, read.machineId));
  if (!read || !node) return refuseOnce(dependencies, call);
  const plan = await discPlan(nodes, node, { secret, serverUrl: baseUrlOf(dependencies, request) });
  const fetch = {
    ...fetchOf(request),
    machineId: node.machineId,
    macAddress: node.macAddress,
    kind: 'loader',
  } as const;
  if ('obstacle' in plan) {
    if (read.isFirst) fetches.record({ ...fetch, served: 'refused', reason: plan.obstacle });
    return reply.code(404).send({ detail: plan.obstacle });
  }
  const { totalBytes, sent } = await sendDisc(request, reply, plan);
  if (read.isFirst) fetches.record({ ...fetch, served: 'disc', totalBytes, complete: true });
  return sent;
}

/** What the installer that was booted from the disc is to do. The URL is over with it. */
async function answerOnceWords(
  dependencies: BootRouteDependencies,
  call: BootCall,
  secret: string,
): Promise<FastifyReply> {
  const { request, reply } = call;
  refuseBrowsers(request);
  if (request.method === 'HEAD') {
    const isThere = (await machineOfBootUrl(dependencies.nodes.database, secret)) !== null;
    return isThere ? reply.type('text/plain; charset=utf-8').send() : refuseOnce(dependencies, call);
  }
  const booted = await bootOnce(dependencies, call, secret, 'uefi');
  if (booted === null) return refuseOnce(dependencies, call);
  const { script: _script, words, ...answer } = booted;
  if (words !== null) return sendScript(dependencies, call, `${words}\n`, answer);
  dependencies.fetches.record({ ...fetchOf(request), ...answer });
  return reply.code(404).send({ detail: answer.reason });
}

async function answerOnceLoader(
  dependencies: BootRouteDependencies,
  call: BootCall,
  secret: string,
  loader: (call: BootCall) => Promise<FastifyReply>,
): Promise<FastifyReply> {
  const id = await machineOfBootUrl(dependencies.nodes.database, secret);
  return id === null ? refuseOnce(dependencies, call) : loader(call);
}

function refuseOnce({ fetches }: BootRouteDependencies, { request, reply }: BootCall): FastifyReply {
  const reason = 'a one-time URL that is unknown, used or expired';
  fetches.record({ ...fetchOf(request), served: 'refused', reason });
  return reply.code(404).send({ detail: reason });
}

/** What firmware sends is read as reports are: a value that is too long or malformed never fails the boot. */
function lineIn(request: FastifyRequest, name: string, max: number): string {
  return lenientLine(max)(textIn(request, name), name, () => {}) ?? '';
}

/** Asked once: an iPXE that does not know its own address would ask again at every answer. */
function askForMac(dependencies: BootRouteDependencies, call: BootCall, baseUrl: string): FastifyReply {
  if (textIn(call.request, 'asked') === '')
    return sendScript(dependencies, call, whoAreYouScript(baseUrl), { served: 'question' });
  const reason = 'the MAC address of the interface that booted is not known';
  return sendScript(dependencies, call, diskScript(reason), { served: 'disk', reason });
}

function sendScript(
  { fetches }: BootRouteDependencies,
  { request, reply }: BootCall,
  script: string,
  what: Partial<NewBootFetch>,
): FastifyReply {
  const totalBytes = Buffer.byteLength(script);
  const fetch = { ...fetchOf(request), ...what, totalBytes };
  reply.raw.once('close', () => {
    const complete = isSent(reply.raw);
    fetches.record({ ...fetch, bytes: complete ? totalBytes : 0, complete });
  });
  return reply.type('text/plain; charset=utf-8').header('cache-control', 'no-store').send(script);
}

async function sendBootFile(
  { fetches, nodes }: BootRouteDependencies,
  { request, reply }: BootCall,
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
  const answer = await sendFile(request, reply, { ...file, sha256: nodes.digests }, (sent) =>
    fetches.record({ ...what, ...sent }),
  );
  if (reply.statusCode === 404) fetches.record({ ...what, reason: 'there is no such file' });
  return answer;
}

/** By the names that workflows give such files. */
function kindOf(path: string): FetchKind {
  const name = basename(path);
  if (name.endsWith('.sig')) return 'file';
  if (/^(vmlinuz|linux|bzImage|Image|kernel)/i.test(name)) return 'kernel';
  return /^(initrd|initramfs)/i.test(name) ? 'initrd' : 'file';
}

/** A fetch of which only the client is known so far. */
export function fetchOf(request: Parameters<typeof clientAddress>[0]): NewBootFetch {
  return {
    machineId: '',
    bootNo: null,
    traceId: '',
    macAddress: '',
    address: clientAddress(request),
    at: new Date(),
    kind: 'script',
    served: '',
    reason: '',
    bytes: 0,
    totalBytes: null,
    complete: false,
  };
}

/** A parameter that is given twice fits no rule below, so it counts as unknown. */
function textIn({ query }: FastifyRequest, name: string): string {
  const value: unknown = (query as Readonly<Record<string, unknown>>)[name];
  return Array.isArray(value) ? value.join(',') : typeof value === 'string' ? value : '';
}

export function baseUrlOf({ baseUrl }: BootRouteDependencies, request: FastifyRequest): string {
  if (baseUrl !== null) return baseUrl;
  // In HTTP/2 the authority replaces the header.
  const host = request.headers.host ?? request.headers[':authority'];
  const scheme = (request.socket as Partial<TLSSocket>).encrypted ? 'https' : 'http';
  const { localAddress = '127.0.0.1', localPort = 80 } = request.socket;
  if (typeof host === 'string' && HOST.test(host))
    return `${scheme}://${host}${isWithoutPort(request, host) ? `:${localPort}` : ''}`;
  return `${scheme}://${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`;
}

/** Firmware (EDK II) names the host without its port, whichever it is. */
function isWithoutPort({ headers }: FastifyRequest, host: string): boolean {
  return (
    headers['user-agent']?.startsWith('UefiHttpBoot/') === true && !/:\d+$/.test(host.replace(/^\[.*\]/, ''))
  );
}
