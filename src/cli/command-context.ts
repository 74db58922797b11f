import { resolve } from 'node:path';
import { type Readable, Writable } from 'node:stream';
import type { Command } from 'commander';
import type { Api } from './connection/api.ts';
import type { Rest } from './connection/rest-client.ts';
import { urlOfPort } from './connection/rest-url.ts';
import { isThisMachine, type ServerAddress } from './connection/server-address.ts';
import { type ErrorReport, reportOf } from './errors/error-report.ts';
import { EXIT_CODES, type Exit } from './errors/exit-code.ts';
import { UsageError } from './errors/usage-error.ts';
import { type HintCommands, OPERATION_HINTS } from './operations/hint-commands.ts';
import { type OutputStream, TextSink } from './output/text-sink.ts';
import type { ConnectionOptions, Target, TargetSources } from './profiles/find-target.ts';

export type InputStream = Readable & {
  readonly isTTY?: boolean;
  /** Of a terminal: every key comes at once, Ctrl-C too. */
  setRawMode?(isRaw: boolean): unknown;
};

export interface SignalSource {
  on(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown;
  off(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown;
}

/** Everything that a command takes from its process. */
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

/** What `addOutput` declares. */
interface SelectionOption {
  readonly output?: string;
  readonly jq?: string;
}

/** What `addReason` declares. */
interface ReasonOption {
  readonly reason?: string;
}

export interface CommandInput<O> {
  readonly args: readonly string[];
  readonly options: O;
  readonly api: Api;
}

export interface RestInput<O> {
  readonly args: readonly string[];
  readonly options: O;
  readonly rest: Rest;
}

/** What every command has: its output, its connection and its exit code. */
export class CommandContext {
  readonly program: string;
  readonly env: CommandEnvironment['env'];
  readonly stdin: InputStream;
  out: TextSink;
  readonly err: TextSink;
  readonly now: () => number;
  readonly newRequestId: () => string;
  exitCode: number = EXIT_CODES.ok.code;
  /** Which commands the hints name: those of operations or those of runs. */
  hints: HintCommands = OPERATION_HINTS;
  #api: Api | undefined;
  #server: ServerAddress | undefined;
  readonly #cwd: string;
  readonly #signals: SignalSource;
  readonly #abandoned = new AbortController();

  constructor(environment: CommandEnvironment) {
    this.program = environment.program;
    this.env = environment.env;
    this.stdin = environment.stdin;
    this.out = new TextSink(environment.stdout, environment.env);
    this.err = new TextSink(environment.stderr, environment.env);
    this.now = environment.now;
    this.newRequestId = environment.newRequestId;
    this.#cwd = environment.cwd;
    this.#signals = environment.signals;
  }

  /** The connection, if the command has opened one. */
  get api(): Api | undefined {
    return this.#api;
  }

  /** Turns a function that calls the gRPC API into an action of commander. */
  action<O>(
    run: (input: CommandInput<O>) => Promise<Exit | number>,
  ): (...parameters: unknown[]) => Promise<void> {
    return async (...parameters) => {
      const command = parameters.at(-1) as Command;
      const options = command.optsWithGlobals<O & ConnectionOptions & SelectionOption & ReasonOption>();
      await this.#finish(options, async (chosen) =>
        run({ args: command.args, options: chosen, api: await this.#connect(options) }),
      );
    };
  }

  /** With `--jq`, the JSON that the command prints goes through the filter before it is written. */
  async #finish<O extends SelectionOption>(
    options: O,
    run: (options: O) => Promise<Exit | number>,
  ): Promise<void> {
    if (options.jq === undefined) {
      this.exit(await run(options));
      return;
    }
    if (options.output !== 'table' && options.output !== 'json' && options.output !== 'jsonl')
      throw new UsageError('--jq selects from JSON: leave -o away, or use -o json or -o jsonl');
    const output = options.output === 'table' ? 'json' : options.output;
    const printed = await this.captured({}, async () => this.exit(await run({ ...options, output })));
    const { selectJson } = await import('./output/select-json.ts');
    this.out.write(await selectJson(printed, options.jq));
  }

  /** What `run` writes to stdout, as if it were a stream like this. */
  async captured(
    like: Pick<OutputStream, 'isTTY' | 'columns' | 'rows'>,
    run: () => Promise<void>,
  ): Promise<string> {
    const printed: string[] = [];
    const out = this.out;
    this.out = new TextSink(Object.assign(collector(printed), like), this.env);
    try {
      await run();
    } finally {
      this.out = out;
    }
    return printed.join('');
  }

  /** The end of a command; a number is the code of another program that it has run. */
  exit(exit: Exit | number): void {
    this.exitCode = typeof exit === 'number' ? exit : EXIT_CODES[exit].code;
  }

  /** Turns a function that calls the REST API into an action of commander. */
  restAction<O>(run: (input: RestInput<O>) => Promise<Exit>): (...parameters: unknown[]) => Promise<void> {
    return async (...parameters) => {
      const command = parameters.at(-1) as Command;
      const options = command.optsWithGlobals<O & ConnectionOptions & SelectionOption & ReasonOption>();
      const { httpUrl, token, tls } = await this.#restTarget(options);
      const { createRest } = await import('./connection/rest-client.ts');
      const rest = createRest(httpUrl, token, tls, options.reason);
      await this.#finish(options, (chosen) => run({ args: command.args, options: chosen, rest }));
    };
  }

  async #connect(options: ConnectionOptions & ReasonOption): Promise<Api> {
    return this.#open(await this.#findTarget(options), options.reason);
  }

  // What connects is loaded here: help and the version need none of it.
  async #findTarget(options: ConnectionOptions): Promise<Target> {
    const { findTarget } = await import('./profiles/find-target.ts');
    return findTarget(options, this.targetSources);
  }

  async #open({ server, token, tls }: Target, reason?: string): Promise<Api> {
    const { connect } = await import('./connection/api.ts');
    this.#server = server;
    this.#api = connect(server, token, tls, reason);
    return this.#api;
  }

  /** Without a URL of its own, the server says over gRPC which port its REST API is at: one address is enough. */
  async #restTarget(options: ConnectionOptions): Promise<Target> {
    const target = await this.#findTarget(options);
    this.#server = target.server;
    if (target.isHttpUrlGiven) return target;
    const { httpPort } = await (await this.#open(target)).fleet.whoAmI({});
    return httpPort === 0 ? target : { ...target, httpUrl: urlOfPort(target.server, httpPort) };
  }

  /** Where the console of the server is. */
  async consoleUrl(options: ConnectionOptions): Promise<string> {
    return (await this.#restTarget(options)).httpUrl;
  }

  /** What decides where a command goes, and with which token. */
  get targetSources(): TargetSources {
    return { env: this.env, cwd: this.#cwd, now: this.now };
  }

  report(error: unknown): ErrorReport {
    const { program, api } = this;
    const isLocal = this.#server !== undefined && isThisMachine(this.#server);
    return reportOf(error, {
      program,
      commands: this.hints,
      isLocal,
      address: api?.address,
      tokenOrigin: api?.tokenOrigin,
    });
  }

  /** The absolute path of a file argument. */
  pathOf(file: string): string {
    return resolve(this.#cwd, file);
  }

  /** The output is closed: the command stops waiting for anything. */
  abandon(): void {
    this.#abandoned.abort();
  }

  get isAbandoned(): boolean {
    return this.#abandoned.signal.aborted;
  }

  /** While `run` is running, Ctrl-C and SIGTERM abort its signal instead of ending the process. */
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

function collector(texts: string[]): Writable {
  return new Writable({
    decodeStrings: false,
    write: (text: string, _encoding, done) => {
      texts.push(text);
      done();
    },
  });
}
