/**
 * The certificate of the server, read again when its files change. Directories are watched, because Kubernetes and most
 * tools replace files instead of writing into them, and the files are also compared from time to time, because not every
 * file system reports changes. Files that do not belong together, as in the middle of a replacement, change nothing: the
 * last good pair stays in use.
 */
import { type FSWatcher, watch } from 'node:fs';
import { dirname } from 'node:path';
import type { Logger } from 'pino';
import type { TlsPair, TlsSource } from '../../surfaces/tls/tls-source.ts';
import { type LoopWatch, repeatUntilStopped } from '../../time/repeat-until-stopped.ts';
import { Signal } from '../../time/signal.ts';
import { describeCertificate, readTlsPair, TlsProblem } from './read-tls-pair.ts';
import type { TlsFiles } from './tls-configuration.ts';

export interface WatchedTls extends TlsSource {
  stop(): Promise<void>;
}

export interface WatchOptions {
  readonly log: Logger;
  readonly now: () => number;
  readonly pollMs?: number;
}

const POLL_MS = 5_000;
const SOON_MS = 14 * 86_400_000;

/** Throws a TlsProblem when the files can't be used now. */
export function watchTlsFiles(files: TlsFiles, { log, now, pollMs = POLL_MS }: WatchOptions): WatchedTls {
  const certificate = new ReloadedCertificate(files, log, now);
  const changed = new Signal();
  const watchers = watchDirectories(files, () => changed.notify(), log);
  const stopping = new AbortController();
  const over = repeatUntilStopped(
    {
      name: 'watching the files of the certificate',
      everyMs: pollMs,
      wake: changed,
      watch: logging(log),
      pass: async () => certificate.reload(),
    },
    stopping.signal,
  );
  return {
    get current() {
      return certificate.current;
    },
    onChange: (listener) => certificate.onChange(listener),
    stop: async () => {
      stopping.abort();
      for (const watcher of watchers) watcher.close();
      await over;
    },
  };
}

class ReloadedCertificate implements TlsSource {
  readonly #files: TlsFiles;
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #listeners = new Set<(pair: TlsPair) => void>();
  #current: TlsPair;
  /** Logged once, not with every comparison. */
  #problem = '';

  constructor(files: TlsFiles, log: Logger, now: () => number) {
    this.#files = files;
    this.#log = log;
    this.#now = now;
    this.#current = readTlsPair(files);
    this.#report('the server has a certificate');
  }

  get current(): TlsPair {
    return this.#current;
  }

  onChange(listener: (pair: TlsPair) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  reload(): void {
    let pair: TlsPair;
    try {
      pair = readTlsPair(this.#files);
    } catch (error) {
      if (!(error instanceof TlsProblem)) throw error;
      if (error.message !== this.#problem)
        this.#log.error({ problem: error.message }, 'the new certificate is not used; the last one stays');
      this.#problem = error.message;
      return;
    }
    this.#problem = '';
    if (isSame(pair, this.#current)) return;
    this.#current = pair;
    for (const listener of this.#listeners) listener(pair);
    this.#report('the certificate was replaced; connections that are open keep the old one');
  }

  #report(message: string): void {
    const described = describeCertificate(this.#current);
    const leftMs = Date.parse(described.valid_to) - this.#now();
    if (leftMs < 0) this.#log.error(described, `${message}, and it has expired`);
    else if (leftMs < SOON_MS) this.#log.warn(described, `${message}, and it expires soon`);
    else this.#log.info(described, message);
  }
}

function isSame(one: TlsPair, other: TlsPair): boolean {
  const sameCa =
    one.clientCa === null || other.clientCa === null
      ? one.clientCa === other.clientCa
      : one.clientCa.equals(other.clientCa);
  return sameCa && one.cert.equals(other.cert) && one.key.equals(other.key);
}

function watchDirectories(files: TlsFiles, onChange: () => void, log: Logger): FSWatcher[] {
  const paths = [files.certFile, files.keyFile, ...(files.clientCaFile === null ? [] : [files.clientCaFile])];
  return [...new Set(paths.map((path) => dirname(path)))].flatMap((directory) => {
    try {
      const watcher = watch(directory, { persistent: false }, onChange);
      watcher.on('error', (error) => log.warn({ err: error, directory }, UNWATCHED));
      return [watcher];
    } catch (error) {
      log.warn({ err: error, directory }, UNWATCHED);
      return [];
    }
  });
}

const UNWATCHED =
  "the directory of the certificate can't be watched; its files are compared every few seconds";

/** A pass fails only by a defect of this file, since what can be wrong with the files is logged there. */
function logging(log: Logger): LoopWatch {
  return {
    passed: () => {},
    failed: (loop, error) => log.error({ err: error, loop }, 'a loop failed'),
  };
}
