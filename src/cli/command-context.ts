import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import type { Command } from 'commander';
import { type Api, connect } from './connection/api.ts';
import { findToken } from './connection/find-token.ts';
import { createRest, type Rest, restUrl } from './connection/rest-client.ts';
import { serverAddress } from './connection/server-address.ts';
import { type ErrorReport, reportOf } from './errors/error-report.ts';
import { EXIT_CODES, type Exit } from './errors/exit-code.ts';
import type { OperationSource } from './operations/operation-source.ts';
import { OPERATIONS } from './operations/v2-operations.ts';
import { type OutputStream, TextSink } from './output/text-sink.ts';

export type InputStream = Readable & { readonly isTTY?: boolean };

export interface SignalSource {
  on(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown;
  off(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown;
}

/** Everything that the command line has of the world around it. */
export interface CommandEnvironment {
  readonly program: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly signals: SignalSource;
  readonly now: () => number;
  readonly newRequestId: () => string;
}

export interface Given<O> {
  readonly args: readonly string[];
  readonly options: O;
  readonly api: Api;
}

export interface GivenRest<O> {
  readonly args: readonly string[];
  readonly options: O;
  readonly rest: Rest;
}

interface ConnectionOptions {
  readonly httpUrl?: string;
  readonly server?: string;
  readonly tokenFile?: string;
}

/** What a command works with: where to write, whom to call, and how it ended. */
export class CommandContext {
  readonly program: string;
  readonly env: CommandEnvironment['env'];
  readonly stdin: InputStream;
  readonly out: TextSink;
  readonly err: TextSink;
  readonly now: () => number;
  readonly newRequestId: () => string;
  exitCode: number = EXIT_CODES.ok.code;
  /** What the hints of this command speak of. */
  subject: OperationSource = OPERATIONS;
  #api: Api | undefined;
  readonly #cwd: string;
  readonly #signals: SignalSource;
  readonly #abandoned = new AbortController();

  constructor(around: CommandEnvironment) {
    this.program = around.program;
    this.env = around.env;
    this.stdin = around.stdin;
    this.out = new TextSink(around.stdout, around.env);
    this.err = new TextSink(around.stderr, around.env);
    this.now = around.now;
    this.newRequestId = around.newRequestId;
    this.#cwd = around.cwd;
    this.#signals = around.signals;
  }

  /** The connection, once a command has asked for one. */
  get api(): Api | undefined {
    return this.#api;
  }

  /** Makes a commander action of a function that needs the server. */
  action<O>(run: (given: Given<O>) => Promise<Exit>): (...given: unknown[]) => Promise<void> {
    return async (...given) => {
      const command = given.at(-1) as Command;
      const options = command.optsWithGlobals<O & ConnectionOptions>();
      const exit = await run({ args: command.args, options, api: this.#connect(options) });
      this.exitCode = EXIT_CODES[exit].code;
    };
  }

  /** The same for what is on the HTTP port. */
  restAction<O>(run: (given: GivenRest<O>) => Promise<Exit>): (...given: unknown[]) => Promise<void> {
    return async (...given) => {
      const command = given.at(-1) as Command;
      const options = command.optsWithGlobals<O & ConnectionOptions>();
      const server = serverAddress(options.server, this.env);
      const token = findToken({ tokenFile: options.tokenFile, env: this.env, cwd: this.#cwd, server });
      const rest = createRest(restUrl(options.httpUrl, this.env, server), token);
      const exit = await run({ args: command.args, options, rest });
      this.exitCode = EXIT_CODES[exit].code;
    };
  }

  #connect({ server, tokenFile }: ConnectionOptions): Api {
    const address = serverAddress(server, this.env);
    const token = findToken({ tokenFile, env: this.env, cwd: this.#cwd, server: address });
    this.#api = connect(address, token);
    return this.#api;
  }

  report(error: unknown): ErrorReport {
    const { program, api } = this;
    const { commands } = this.subject;
    return reportOf(error, { program, commands, address: api?.address, tokenOrigin: api?.tokenOrigin });
  }

  /** A file that was named on the command line. */
  pathOf(file: string): string {
    return resolve(this.#cwd, file);
  }

  /** Nobody reads what the command writes: whatever it waits for, it need not. */
  abandon(): void {
    this.#abandoned.abort();
  }

  get isAbandoned(): boolean {
    return this.#abandoned.signal.aborted;
  }

  /** While `run` is under way, Ctrl-C ends it in good order instead of the process. */
  async interruptible<T>(run: (interrupted: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    const interrupt = (): void => controller.abort();
    this.#signals.on('SIGINT', interrupt);
    this.#signals.on('SIGTERM', interrupt);
    try {
      return await run(AbortSignal.any([controller.signal, this.#abandoned.signal]));
    } finally {
      this.#signals.off('SIGINT', interrupt);
      this.#signals.off('SIGTERM', interrupt);
    }
  }
}
