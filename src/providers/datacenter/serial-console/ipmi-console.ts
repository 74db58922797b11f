/**
 * SOL over IPMI, as `ipmitool sol activate`, which works without a terminal: it reads what is typed from its input, writes what the
 * machine writes to its output, and closes the session at the end of its input. So it also ends when this process is killed.
 */
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { type Endpoint, ipmiEndpointOf } from '../../../connections/endpoint.ts';
import { KeptOutput } from '../../../connections/output.ts';
import { ConsoleFailure } from '../../../domain/console/console.ts';
import type { Machine } from '../../../domain/machine/machine.ts';
import type { ConsoleConnection, ConsoleOptions } from '../../provider.ts';
import { BmcFailure, type Bmcs, type IpmiSession } from '../ipmi/bmcs.ts';
import { notStarted, startTypedIpmitool } from '../ipmi/ipmitool.ts';
import { ESCAPE, SolInput } from './sol-input.ts';

/** What ipmitool prints before the output of the machine, and when it sends a break. */
const BANNER = Buffer.from(`[SOL Session operational.  Use ${ESCAPE}? for help]\n`);
const BREAK_SENT = Buffer.from(`${ESCAPE}B [send break]\n`);
/** Printed once the session is there, because its input is no terminal. The banner waits for the first output. */
const CONNECTED = /tcgetattr/;
const IN_USE = /already active on another session|activation limit reached/;
const NOT_OFFERED = /SOL payload disabled|Error activating SOL payload: (?:Invalid command|.*not supported)/i;
const NO_ANSWER = /No response to keepalive/;
const CLOSE_GRACE_MS = 2_000;
/** "Get Payload Activation Status" of SOL: the number of instances, and which of them are active. */
const STATUS = ['raw', '0x06', '0x4a', '0x01'] as const;

type Program = ChildProcessByStdio<Writable, Readable, Readable>;

export interface IpmiConsoleDependencies {
  readonly bmcs: Bmcs;
  readonly checkMs: number;
}

export function openIpmiConsole(
  dependencies: IpmiConsoleDependencies,
  machine: Machine,
  { signal, inUse }: ConsoleOptions,
  endpoint: Endpoint = ipmiEndpointOf(machine),
): Promise<ConsoleConnection> {
  const { bmcs } = dependencies;
  return bmcs.startSession(machine, { endpoint, signal }, async (session) => {
    try {
      return await activate(session);
    } catch (error) {
      if (inUse === 'leave' || !(error instanceof ConsoleFailure) || error.code !== 'CONSOLE_IN_USE')
        throw error;
      await session.run('sol', 'deactivate');
      return activate(session);
    }
  });

  async function activate(session: IpmiSession): Promise<ConsoleConnection> {
    const program = await startSol(session, signal);
    const check = async () => {
      const answer = await bmcs.tryAsk(machine, { endpoint, signal }, STATUS);
      return answer === null || isActive(answer);
    };
    return new SolConnection(program, session, { check, checkMs: dependencies.checkMs });
  }
}

/** A BMC that answers in another shape says nothing. */
function isActive(answer: string): boolean {
  const [, , first, second] = /^\s*([0-9a-f]{2}) ([0-9a-f]{2}) ([0-9a-f]{2})\s*$/m.exec(answer) ?? [];
  return first === undefined || Number.parseInt(`${first}${second}`, 16) !== 0;
}

interface StartedProgram {
  readonly child: Program;
  readonly stderr: KeptOutput;
  /** Its exit code, when all of its output was read. */
  readonly closed: Promise<number | null>;
}

/** Returns when the session is there. */
async function startSol(session: IpmiSession, signal: AbortSignal): Promise<StartedProgram> {
  signal.throwIfAborted();
  const child = startTypedIpmitool([...session.args, '-e', ESCAPE, 'sol', 'activate'], session.password);
  const stderr = new KeptOutput();
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
  // Input to a program that has just ended: its end is reported by itself.
  child.stdin.on('error', () => {});
  const started = new Promise<'connected' | 'ended'>((resolve, reject) => {
    child.once('error', (error) => reject(notStarted(error)));
    child.stderr.on('data', (bytes: Buffer) => {
      stderr.write(bytes);
      if (CONNECTED.test(stderr.toString())) resolve('connected');
    });
    // It is also readable at its end.
    child.stdout.once('readable', () => {
      if (child.stdout.readableLength > 0) resolve('connected');
    });
    child.once('exit', () => resolve('ended'));
  });
  const program = { child, stderr, closed };
  const limit = AbortSignal.any([signal, AbortSignal.timeout(session.limitMs)]);
  const stop = () => child.stdin.end();
  limit.addEventListener('abort', stop, { once: true });
  const end = limit.aborted ? 'ended' : await started.finally(() => limit.removeEventListener('abort', stop));
  if (end === 'connected' && child.exitCode === null && !limit.aborted) {
    session.accepted();
    return program;
  }
  await endProgram(program);
  signal.throwIfAborted();
  throw notActivated(session, {
    exitCode: child.exitCode,
    outOfTime: limit.aborted,
    stderr: stderr.toString(),
  });
}

function notActivated(
  session: IpmiSession,
  end: { readonly exitCode: number | null; readonly outOfTime: boolean; readonly stderr: string },
): Error {
  const { where } = session;
  if (IN_USE.test(end.stderr)) {
    const message = `another client has the console of the BMC ${where} open; take it over with --steal, which ends that client's session`;
    return new ConsoleFailure('CONSOLE_IN_USE', message);
  }
  if (NOT_OFFERED.test(end.stderr)) {
    const message = `the BMC ${where} has no SOL, or it is switched off there`;
    return new ConsoleFailure('CONSOLE_NOT_OFFERED', message);
  }
  return session.failure('sol activate', { ...end, stdout: '' });
}

/** Closes the session, and kills what does not close it in time. */
async function endProgram({ child, closed }: StartedProgram): Promise<void> {
  child.stdin.end();
  const interrupting = setTimeout(() => child.kill('SIGINT'), CLOSE_GRACE_MS / 2);
  const killing = setTimeout(() => {
    child.kill('SIGKILL');
    // What no one reads any more would keep it from closing.
    child.stdout.destroy();
  }, CLOSE_GRACE_MS);
  await closed;
  clearTimeout(interrupting);
  clearTimeout(killing);
}

class SolConnection implements ConsoleConnection {
  readonly way = 'SOL over IPMI';
  readonly canBreak = true;
  readonly output: AsyncIterable<Uint8Array>;
  readonly #program: StartedProgram;
  readonly #session: IpmiSession;
  readonly #input = new SolInput();
  readonly #checking: NodeJS.Timeout;
  #lastOutputAt = performance.now();
  #isClosing = false;
  #wasDeactivated = false;
  #isLeftOpen = false;

  constructor(
    program: StartedProgram,
    session: IpmiSession,
    silence: { readonly check: () => Promise<boolean>; readonly checkMs: number },
  ) {
    this.#program = program;
    this.#session = session;
    this.output = this.#read();
    this.#checking = setInterval(() => void this.#checkSilence(silence), silence.checkMs);
    this.#checking.unref();
    void program.closed.then(() => clearInterval(this.#checking));
  }

  get isLeftOpen(): boolean {
    return this.#isLeftOpen;
  }

  async write(bytes: Uint8Array): Promise<void> {
    await this.#type(this.#input.typed(bytes));
  }

  async sendBreak(): Promise<void> {
    await this.#type(this.#input.break());
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#checking);
    await endProgram(this.#program);
  }

  async #type(bytes: Buffer): Promise<void> {
    const { stdin } = this.#program.child;
    if (stdin.destroyed || stdin.writableEnded) return;
    if (!stdin.write(bytes)) await Promise.race([once(stdin, 'drain'), this.#program.closed]);
  }

  async *#read(): AsyncGenerator<Uint8Array> {
    let isFirst = true;
    try {
      for await (const chunk of this.#program.child.stdout) {
        this.#lastOutputAt = performance.now();
        const bytes = without(chunk as Buffer, isFirst ? BANNER : BREAK_SENT);
        isFirst = false;
        if (bytes.length > 0) yield bytes;
      }
    } catch (error) {
      if (!this.#isClosing && !this.#wasDeactivated) throw error;
    }
    await this.#program.closed;
    if (!this.#isClosing) throw this.#endOf(this.#program.stderr.toString());
  }

  /** Some BMCs do not notify a client whose session another one ended: it would wait forever. */
  async #checkSilence(silence: {
    readonly check: () => Promise<boolean>;
    readonly checkMs: number;
  }): Promise<void> {
    if (performance.now() - this.#lastOutputAt < silence.checkMs || this.#isClosing) return;
    // A BMC that does not answer is noticed by ipmitool itself, and one that refuses the question can't be asked.
    const isActive = await silence.check().catch(() => true);
    if (isActive || this.#isClosing) return;
    this.#wasDeactivated = true;
    await endProgram(this.#program);
  }

  #endOf(stderr: string): Error {
    const { where } = this.#session;
    const { signalCode } = this.#program.child;
    if (signalCode !== null && !this.#wasDeactivated) {
      this.#isLeftOpen = true;
      return new ConsoleFailure('CONSOLE_ENDED', `ipmitool was ended by ${signalCode} where Ingot runs`);
    }
    if (NO_ANSWER.test(stderr)) {
      this.#isLeftOpen = true;
      const message = `the BMC ${where} does not answer any more`;
      return new BmcFailure('NoAnswer', { class: 'retryable', code: 'UNREACHABLE', message }, where);
    }
    const who = this.#wasDeactivated ? 'another client' : 'the BMC';
    return new ConsoleFailure('CONSOLE_ENDED', `${who} ended the console session at the BMC ${where}`);
  }
}

function without(chunk: Buffer, text: Buffer): Buffer {
  const at = chunk.indexOf(text);
  return at < 0 ? chunk : Buffer.concat([chunk.subarray(0, at), chunk.subarray(at + text.length)]);
}
