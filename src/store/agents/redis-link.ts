/**
 * One connection to Redis that is either good or said to be away.
 *
 * A call is sent only over a connection that is ready, and is answered within a few seconds or fails: nothing is
 * queued for later, because a keepalive that is stored later than its agent was told is worth nothing. A Redis that
 * leaves a call unanswered is taken for frozen, and its connection is ended, so that everybody who waits on it fails
 * at once and replies never pile up. Then it is connected to again, for as long as it takes.
 *
 * Only changes are told: that it is away, and that it is back. One that is away at the start is no different: whoever
 * starts before its Redis does waits for it, and fails its calls meanwhile.
 */
import { createHash } from 'node:crypto';
import type { createClient } from '@redis/client';
import { sleep } from '../../time/sleep.ts';
import { KeepalivesAway } from './keepalive-store.ts';

export interface RedisLinkOptions {
  readonly url: string;
  /** Never with the URL in it, which may hold a password. */
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
/** What Redis says when it can't do now what it could do at another time. */
/** What no waiting mends: the address or the password is wrong. */
const WRONG_SETTING = /^(WRONGPASS|NOAUTH|NOPERM|ERR|DENIED)\b|Invalid URL|Invalid protocol|Invalid pathname/;
const NOT_NOW = /^(LOADING|BUSY|MASTERDOWN|READONLY|OOM|MISCONF|NOREPLICAS|CLUSTERDOWN|NOAUTH|NOPERM)\b/;

export class RedisLink {
  readonly #options: RedisLinkOptions;
  readonly #closing = new AbortController();
  #client: Client | null = null;
  /** What was told last, and during which kind of call. */
  #problem: { readonly during: string; readonly message: string } | null = null;
  #loop: Promise<void> = Promise.resolve();

  private constructor(options: RedisLinkOptions) {
    this.#options = options;
  }

  /** Throws when Redis refuses the address or the password; one that does not answer is away. */
  static async open(options: RedisLinkOptions): Promise<RedisLink> {
    const link = new RedisLink(options);
    const client = await connect(options.url).catch((error: unknown) => {
      const message = messageOf(error) || 'no connection';
      if (WRONG_SETTING.test(message)) throw new Error(message, { cause: error });
      link.#tellAway('connecting', message);
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

  /** All of them in one go; answers in their order. */
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
      if (this.#problem?.during === during) this.#tellBack();
      return answer;
    } catch (error) {
      const message = messageOf(error);
      if (client.isReady && !NOT_NOW.test(message)) throw error;
      if (client.isReady) this.#tellAway(during, message);
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
        this.#tellAway('connecting', problem);
      }
      client = await this.#reconnect();
      if (!client) return;
      this.#tellBack();
    }
  }

  /** Null: not wanted any more. */
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
        this.#tellAway('connecting', messageOf(error));
      }
    }
  }

  /** How it is away may differ from one attempt to the next; that it is away is told once. */
  #tellAway(during: string, message: string): void {
    const isNews = this.#problem === null;
    this.#problem = { during, message };
    if (isNews) this.#options.onAway(message);
  }

  #tellBack(): void {
    this.#problem = null;
    this.#options.onBack();
  }
}

async function connect(url: string): Promise<Client> {
  // Not needed by those who keep presence in PostgreSQL, and it takes a tenth of a second.
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
  // Each is also the failure of a call, or the end of the connection.
  client.on('error', () => {});
  try {
    await within(ANSWER_MS, client, client.connect());
    return client;
  } catch (error) {
    client.destroy();
    throw error;
  }
}

/** Returns why. */
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

/** The client has a time limit of its own, but it ends when a command is written, not when it is answered. */
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

/** A host with several addresses fails with an error that holds one for each, and says nothing itself. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}
