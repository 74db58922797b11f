/** Runs the command line in this process, with streams that remember. */

import { EventEmitter } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { afterEach, beforeEach } from 'vitest';
import { type ClientInvocation, runClient } from '../../src/cli/command-line.ts';
import { FakeFleet, type FakeServer, startFakeServer } from './fake-server.ts';

class Captured extends Writable {
  text = '';
  readonly isTTY: boolean;
  readonly columns = 120;

  constructor(isTTY: boolean) {
    super({ decodeStrings: false });
    this.isTTY = isTTY;
  }

  override _write(chunk: string, _encoding: string, done: () => void): void {
    this.text += chunk;
    done();
  }
}

export interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Surrounding {
  readonly program?: string;
  readonly env?: Record<string, string>;
  readonly isTerminal?: boolean;
  /** What is typed; the input stays open. */
  readonly answer?: string;
  /** What is piped in, to its end. */
  readonly input?: string;
  readonly now?: () => number;
  /** What the command generates as its request id. */
  readonly requestId?: string;
  readonly cwd?: string;
  readonly extraCommands?: ClientInvocation['extraCommands'];
}

/** A command under way: its output so far, its signals, its end. */
export function launch(address: string, line: string, around: Surrounding = {}) {
  const isTerminal = around.isTerminal === true;
  const stdout = new Captured(isTerminal);
  const stderr = new Captured(isTerminal);
  const stdin = Object.assign(new PassThrough(), { isTTY: isTerminal });
  if (around.answer !== undefined) stdin.write(around.answer);
  else stdin.end(around.input);
  const signals = new EventEmitter();
  const argv = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
  const code = runClient({
    program: around.program ?? 'ingot',
    argv,
    env: { INGOT_SERVER: address, INGOT_TOKEN: 'secret', ...around.env },
    cwd: around.cwd ?? '/',
    stdin,
    stdout,
    stderr,
    signals,
    newRequestId: () => around.requestId ?? 'made-up-id',
    ...(around.now === undefined ? {} : { now: around.now }),
    ...(around.extraCommands === undefined ? {} : { extraCommands: around.extraCommands }),
  });
  const ended = code.then((value): Run => ({ code: value, stdout: stdout.text, stderr: stderr.text }));
  return { stdin, stdout, stderr, signals, ended };
}

/** A fleet and its server for each test of a file. */
export function useFakeServer() {
  const used = {} as { fleet: FakeFleet; server: FakeServer };
  beforeEach(async () => {
    used.fleet = new FakeFleet();
    used.server = await startFakeServer(used.fleet);
  });
  afterEach(() => used.server.stop());
  return {
    get fleet() {
      return used.fleet;
    },
    get server() {
      return used.server;
    },
    set server(server: FakeServer) {
      used.server = server;
    },
    launch: (line: string, around?: Surrounding) => launch(used.server.address, line, around),
    run: (line: string, around?: Surrounding) => launch(used.server.address, line, around).ended,
  };
}
