/**
 * One connection to Redis that either works or is reported as away.
 *
 * A call is sent only over a connection that is ready, and is answered within a few seconds or fails: nothing is queued for
 * later, because a keepalive must not be stored after its agent got an error. A Redis that does not answer a call counts as
 * hung, and its connection is closed, so that all waiting calls fail at once and replies never pile up. Then it is
 * reconnected, for as long as it takes.
 *
 * Only changes are reported: that it is away, and that it is back. The same holds at the start: a replica that starts before
 * its Redis waits for it, and its calls fail meanwhile.
 */
import { createHash } from 'node:crypto';
import type { createClient } from '@redis/client';
import { sleep } from '../../time/sleep.ts';
import { KeepalivesAway } from './keepalive-store.ts';

export interface RedisLinkOptions {
  readonly url: string;
  /** The problem never holds the URL, which may have a password in it. */
  readonly onAway: (problem: string) => void;
  readonly onBack: () => void;
}

export interface RedisScript {
  readonly text: string;
  readonly sha: string;
}

export function redisScript(text: string): RedisScript {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

type Client = ReturnType<
  typeof createClient<Record<never, never>, Record<never, never>, Record<never, never>, 2>
>;

export const ANSWER_MS = 3_000;
const CONNECT_MS = 2_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
/** Errors that do not pass by themselves: the address or the password is wrong. */
const WRONG_SETTING = /^(WRONGPASS|NOAUTH|NOPERM|ERR|DENIED)\b|Invalid URL|Invalid protocol|Invalid pathname/;
/** Errors of a Redis that can't do now what it can do later. */
const NOT_NOW = /^(LOADING|BUSY|MASTERDOWN|READONLY|OOM|MISCONF|NOREPLICAS|CLUSTERDOWN|NOAUTH|NOPERM)\b/;

export class RedisLink {
  readonly #options: RedisLinkOptions;
  readonly #closing = new AbortController();
  #client: Client | null = null;
  /** What was reported last, and during which kind of call. */
  #problem: { readonly during: string; readonly message: string } | null = null;
  #loop: Promise<void> = Promise.resolve();

  private constructor(options: RedisLinkOptions) {
    this.#options = options;
  }

  /** Throws when Redis refuses the address or the password; a Redis that does not answer is away. */
  static async open(options: RedisLinkOptions): Promise<RedisLink> {
    const link = new RedisLink(options);
    const client = await connect(options.url).catch((error: unknown) => {
      const message = messageOf(error) || 'no connection';
      if (WRONG_SETTING.test(message)) throw new Error(message, { cause: error });
      link.#reportAway('connecting', message);
      return null;
    });
    link.#loop = link.#stayConnected(client);
    return link;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#client?.destroy();
    await this.#loop;
  }

  /** Sends all of them at once; the answers are in the same order. */
  send(during: string, commands: ReadonlyArray<readonly string[]>): Promise<unknown[]> {
    return this.#call(during, (client) =>
      Promise.all(commands.map((command) => client.sendCommand<unknown>(command))),
    );
  }

  run(
    during: string,
    { sha, text }: RedisScript,
    keys: readonly string[],
    args: readonly string[],
  ): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args];
    return this.#call(during, (client) =>
      client.sendCommand<unknown>(['EVALSHA', sha, ...rest]).catch((error: unknown) => {
        if (!messageOf(error).startsWith('NOSCRIPT')) throw error;
        return client.sendCommand<unknown>(['EVAL', text, ...rest]);
      }),
    );
  }

  async #call<T>(during: string, work: (client: Client) => Promise<T>): Promise<T> {
    const client = this.#client;
    if (!client?.isReady) throw new KeepalivesAway(this.#problem?.message ?? 'there is no connection');
    try {
      const answer = await within(ANSWER_MS, client, work(client));
      if (this.#problem?.during === during) this.#reportBack();
      return answer;
    } catch (error) {
      const message = messageOf(error);
      if (client.isReady && !NOT_NOW.test(message)) throw error;
      if (client.isReady) this.#reportAway(during, message);
      throw new KeepalivesAway(message, { cause: error });
    }
  }

  /** Null: it was away at the start. */
  async #stayConnected(first: Client | null): Promise<void> {
    let client = first;
    for (;;) {
      if (client) {
        this.#client = client;
        const problem = await untilEnded(client);
        this.#client = null;
        if (this.#closing.signal.aborted) return;
        this.#reportAway('connecting', problem);
      }
      client = await this.#reconnect();
      if (!client) return;
      this.#reportBack();
    }
  }

  /** Null: the link was closed. */
  async #reconnect(): Promise<Client | null> {
    const { signal } = this.#closing;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      await sleep(pauseMs, signal);
      if (signal.aborted) return null;
      try {
        const client = await connect(this.#options.url);
        if (!signal.aborted) return client;
        client.destroy();
      } catch (error) {
        this.#reportAway('connecting', messageOf(error));
      }
    }
  }

  /** The message may differ from one attempt to the next; that it is away is reported once. */
  #reportAway(during: string, message: string): void {
    const isNew = this.#problem === null;
    this.#problem = { during, message };
    if (isNew) this.#options.onAway(message);
  }

  #reportBack(): void {
    this.#problem = null;
    this.#options.onBack();
  }
}

async function connect(url: string): Promise<Client> {
  // Loaded here: it takes a tenth of a second, and presence in PostgreSQL does not need it.
  const { createClient } = await import('@redis/client');
  const client: Client = createClient({
    url,
    RESP: 2,
    name: 'ingot',
    disableClientInfo: true,
    disableOfflineQueue: true,
    maintNotifications: 'disabled',
    socket: { connectTimeout: CONNECT_MS, reconnectStrategy: false },
  });
  // Each error also fails a call or ends the connection, and is handled there.
  client.on('error', () => {});
  try {
    await within(ANSWER_MS, client, client.connect());
    return client;
  } catch (error) {
    client.destroy();
    throw error;
  }
}

/** Returns the reason. */
async function untilEnded(client: Client): Promise<string> {
  if (!client.isReady) return 'the connection was closed';
  return new Promise((resolve) => {
    client.once('error', (error: unknown) => {
      resolve(messageOf(error));
      client.destroy();
    });
    client.once('end', () => resolve(`no answer within ${ANSWER_MS} ms`));
  });
}

/** The client's own time limit ends when a command is written, not when it is answered. */
async function within<T>(limitMs: number, client: Client, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`no answer within ${limitMs} ms`));
      client.destroy();
    }, limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The error for a host with several addresses has an error for each of them, and no message itself. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}
