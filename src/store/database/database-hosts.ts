/**
 * A database of several servers, of which one takes writes: postgresql://user@host1:5432,host2:5432/ingot, as in libpq. The
 * driver takes one server a URL, so this finds it: all servers are queried at the same time, and the first that takes writes
 * is used until a connection to it fails or it becomes read-only. A URL of one server is used unchanged.
 */
import pg from 'pg';

/** libpq's other values select a server that takes no writes, which is of no use here. */
export const TARGET_SESSION_ATTRS = ['any', 'read-write', 'primary'] as const;
export type TargetSessionAttrs = (typeof TARGET_SESSION_ATTRS)[number];

export interface DatabaseServers {
  /** One URL a server. */
  readonly urls: readonly string[];
  /** Null: not in the URL. */
  readonly target: TargetSessionAttrs | null;
}

export class DatabaseUrlError extends Error {
  override readonly name = 'DatabaseUrlError';
}

const URL_PARTS = /^(postgres(?:ql)?:\/\/)((?:[^@/?#]*@)?)([^/?#]*)([^?#]*)(?:\?([^#]*))?$/;

/** Throws a DatabaseUrlError that quotes no part of the URL: it may hold a password. */
export function parseDatabaseUrl(url: string): DatabaseServers {
  const [whole, scheme = '', login = '', authority = '', path = '', query = ''] = URL_PARTS.exec(url) ?? [];
  if (whole === undefined) throw new DatabaseUrlError('is not a postgresql:// URL');
  const parameters = new URLSearchParams(query);
  const target = targetOf(parameters.get('target_session_attrs'));
  parameters.delete('target_session_attrs');
  const servers = serversOf(authority, parameters);
  // The URL of a single server stays as it is: it may name a socket's directory, or no host at all.
  if (servers.length < 2)
    return { urls: [checked(withQuery(scheme + login + authority + path, parameters))], target };
  parameters.delete('host');
  parameters.delete('port');
  const urls = servers.map(({ host, socketDir }) => {
    const own = new URLSearchParams(parameters);
    if (socketDir !== null) own.set('host', socketDir);
    return checked(withQuery(scheme + login + host + path, own));
  });
  return { urls, target };
}

function targetOf(text: string | null): TargetSessionAttrs | null {
  if (text === null) return null;
  const target = TARGET_SESSION_ATTRS.find((known) => known === text);
  if (target !== undefined) return target;
  throw new DatabaseUrlError(
    `has target_session_attrs=${JSON.stringify(text)}; it may be ${TARGET_SESSION_ATTRS.join(', ')}`,
  );
}

interface NamedServer {
  /** With its port; for a socket only the port counts. */
  readonly host: string;
  readonly socketDir: string | null;
}

/** From the query's parameters, where libpq would take them from there. */
function serversOf(authority: string, parameters: URLSearchParams): NamedServer[] {
  const named = parameters.get('host');
  if (named === null) return authority.split(',').map((host) => ({ host, socketDir: null }));
  const hosts = named.split(',');
  const ports = (parameters.get('port') ?? '5432').split(',');
  if (ports.length !== 1 && ports.length !== hosts.length) {
    throw new DatabaseUrlError(
      `names ${hosts.length} hosts and ${ports.length} ports; give one port, or one for each host`,
    );
  }
  return hosts.map((host, index) => {
    const port = ports[index] ?? ports[0];
    if (host.startsWith('/')) return { host: `localhost:${port}`, socketDir: host };
    return { host: `${host.includes(':') ? `[${host}]` : host}:${port}`, socketDir: null };
  });
}

function withQuery(url: string, parameters: URLSearchParams): string {
  const query = parameters.toString();
  return query === '' ? url : `${url}?${query}`;
}

function checked(url: string): string {
  if (!URL.canParse(url.replace('@/', '@localhost/').replace(':///', '://localhost/'))) {
    throw new DatabaseUrlError('is not a postgresql:// URL');
  }
  return url;
}

/** The server's name, without the login. */
function nameOf(url: string): string {
  const { host, searchParams } = new URL(url.replace('@/', '@localhost/').replace(':///', '://localhost/'));
  return searchParams.get('host') ?? host;
}

/** None of the servers can be used. */
export class NoServer extends Error {
  override readonly name = 'NoServer';
}

function isRefusal(error: unknown): boolean {
  return error instanceof pg.DatabaseError && ['28', '3D'].includes(error.code?.slice(0, 2) ?? '');
}

const PROBE_MS = 3_000;

const TAKES_WRITES = `
  SELECT NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off' AS "takesWrites"`;

export class DatabaseHosts {
  readonly #urls: readonly string[];
  readonly #mustWrite: boolean;
  #url: string;
  #search: Promise<void> | null = null;

  constructor(url: string) {
    const { urls, target } = parseDatabaseUrl(url);
    this.#urls = urls;
    this.#url = urls[0] ?? url;
    this.#mustWrite = target === null ? urls.length > 1 : target !== 'any';
  }

  /** The URL of the server to connect to. */
  get url(): string {
    return this.#url;
  }

  get areSeveral(): boolean {
    return this.#urls.length > 1;
  }

  /** For the pool: each connection goes to the current server. */
  clientClass(): typeof pg.Client {
    const hosts = this;
    return class extends pg.Client {
      readonly serverUrl: string;

      constructor(config?: pg.ClientConfig) {
        const { url } = hosts;
        super({ ...config, connectionString: url });
        this.serverUrl = url;
      }
    };
  }

  isCurrent(client: pg.ClientBase): boolean {
    return (client as { serverUrl?: string }).serverUrl === this.#url;
  }

  /** Finds the server to connect to; calls during a search get its result. */
  search(): Promise<void> {
    this.#search ??= this.#ask().finally(() => {
      this.#search = null;
    });
    return this.#search;
  }

  /** Throws when the server must not be used. */
  async verify(client: pg.ClientBase): Promise<void> {
    if (!this.#mustWrite) return;
    const { rows } = await client.query<{ takesWrites: boolean }>(TAKES_WRITES);
    if (rows[0]?.takesWrites !== true) throw new NoServer('the server takes no writes');
  }

  async #ask(): Promise<void> {
    try {
      this.#url = await Promise.any(this.#urls.map((url) => this.#askOne(url)));
    } catch (error) {
      const reasons: unknown[] = error instanceof AggregateError ? error.errors : [error];
      // A wrong password or name is a mistake in the URL, not a server that is away.
      if (reasons.every(isRefusal)) throw reasons[0];
      const each = this.#urls.map((url, index) => `${nameOf(url)}: ${(reasons[index] as Error).message}`);
      throw new NoServer(`none of the database's servers can be used (${each.join('; ')})`, { cause: error });
    }
  }

  async #askOne(url: string): Promise<string> {
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: PROBE_MS,
      query_timeout: PROBE_MS,
    });
    client.on('error', () => {});
    try {
      await client.connect();
      await this.verify(client);
      return url;
    } finally {
      // The result is known; a server that is slow to close must not delay it.
      client.end().catch(() => {});
    }
  }
}

/** A connection outside of the pool, to the server that takes writes; the caller ends it. */
export async function connectToDatabase(url: string, config: pg.ClientConfig): Promise<pg.Client> {
  const hosts = new DatabaseHosts(url);
  if (hosts.areSeveral) await hosts.search();
  const client = new pg.Client({ ...config, connectionString: hosts.url });
  // A connection that is cut fails the running statement; the event itself, without a listener, would end the process.
  client.on('error', () => {});
  try {
    await client.connect();
    await hosts.verify(client);
    return client;
  } catch (error) {
    await client.end();
    throw error;
  }
}
