/**
 * Files that are fetched by an address that the API gives, and used only when their digest is the one that was asked for. Several that want the
 * same file at the same time share it, so that a rollout fetches an image once; it is deleted when the last one is done.
 */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type AddressRule, allowedAgent } from './address-rules.ts';
import { unlessAborted } from './unless-aborted.ts';

export interface CheckedFile {
  /** The last part of its address. */
  readonly name: string;
  readonly bytes: number;
  readonly open: () => Readable;
}

/** Why there is no file: it can't be fetched now, or it is not the one that was asked for. */
export class NotDownloaded extends Error {
  readonly reason: 'not_fetched' | 'not_the_file';

  constructor(reason: NotDownloaded['reason'], message: string) {
    super(message);
    this.name = 'NotDownloaded';
    this.reason = reason;
  }
}

const MAX_BYTES = 4 * 1024 ** 3;
const LIMIT_MS = 30 * 60_000;

interface Shared {
  users: number;
  readonly stop: AbortController;
  readonly fetching: Promise<{ readonly folder: string; readonly bytes: number }>;
}

export class CheckedDownloads {
  readonly #rule: AddressRule;
  readonly #shared = new Map<string, Shared>();

  constructor(rule: AddressRule) {
    this.#rule = rule;
  }

  /** Throws NotDownloaded, or what the rule says of the address. An aborted user leaves; the last one that leaves ends the fetching. */
  async use<T>(
    url: URL,
    sha256: string,
    signal: AbortSignal,
    work: (file: CheckedFile) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    const key = `${sha256} ${url.href}`;
    const shared = this.#shared.get(key) ?? this.#start(key, url, sha256);
    shared.users += 1;
    try {
      const { folder, bytes } = await unlessAborted(shared.fetching, signal);
      const path = join(folder, 'file');
      return await work({ name: nameOf(url), bytes, open: () => createReadStream(path) });
    } finally {
      shared.users -= 1;
      if (shared.users === 0) await this.#end(key, shared);
    }
  }

  #start(key: string, url: URL, sha256: string): Shared {
    const stop = new AbortController();
    const fetching = fetchFile(url, sha256, this.#rule, stop.signal);
    // Its users get the error; one that left does not wait for it.
    fetching.catch(() => {});
    const shared = { users: 0, stop, fetching };
    this.#shared.set(key, shared);
    return shared;
  }

  async #end(key: string, { stop, fetching }: Shared): Promise<void> {
    this.#shared.delete(key);
    stop.abort(new NotDownloaded('not_fetched', 'it is not needed any more'));
    const done = await fetching.catch(() => null);
    if (done) await rm(done.folder, { recursive: true, force: true });
  }
}

function nameOf({ pathname }: URL): string {
  const name = decodeURIComponent(pathname.split('/').pop() ?? '').replace(/[^\w.+-]/g, '_');
  return name === '' ? 'image' : name;
}

async function fetchFile(url: URL, sha256: string, rule: AddressRule, signal: AbortSignal) {
  rule.check(url.hostname.replace(/^\[|\]$/g, ''));
  const folder = await mkdtemp(join(tmpdir(), 'ingot-download-'));
  try {
    const response = await ask(url, rule, AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]));
    const hash = createHash('sha256');
    let bytes = 0;
    const counted = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        bytes += chunk.length;
        hash.update(chunk);
        if (bytes > MAX_BYTES) done(new NotDownloaded('not_the_file', `it has more than ${MAX_BYTES} bytes`));
        else done(null, chunk);
      },
    });
    await pipeline(response, counted, createWriteStream(join(folder, 'file'), { mode: 0o600 }));
    const found = hash.digest('hex');
    if (found !== sha256)
      throw new NotDownloaded('not_the_file', `its SHA-256 is ${found}, and ${sha256} was asked for`);
    return { folder, bytes };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw known(error);
  }
}

function known(error: unknown): unknown {
  const { code, name } = error as { readonly code?: string; readonly name?: string };
  if (error instanceof NotDownloaded || name === 'AddressNotAllowed') return error;
  if (name === 'TimeoutError') return new NotDownloaded('not_fetched', 'it took too long');
  return new NotDownloaded('not_fetched', code ?? 'the connection broke');
}

function ask(url: URL, rule: AddressRule, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const open = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const agent = allowedAgent(url, rule, { keepAlive: false });
    const request = open(url, { method: 'GET', agent, signal }, (response) => {
      if (response.statusCode === 200) return resolve(response);
      response.destroy();
      reject(new NotDownloaded('not_fetched', `the server answered ${response.statusCode}`));
    });
    request.on('error', reject);
    request.end();
  });
}
