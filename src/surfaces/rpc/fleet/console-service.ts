/** baremetal.fleet.v1.ConsoleService: the serial consoles of machines. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Caller } from '../../../domain/access/caller.ts';
import { type Console, MAX_READ_BYTES, MAX_TYPED_BYTES } from '../../../domain/console/console.ts';
import { Fault, invalidField, missingField } from '../../../domain/error/fault.ts';
import type { Machine } from '../../../domain/machine/machine.ts';
import { checkMachineId } from '../../../domain/machine/machine-input.ts';
import {
  type ConsoleLogSchema,
  ConsoleService,
  type GetConsoleLogRequest,
  type WriteConsoleRequest,
} from '../../../gen/baremetal/fleet/v1/console_service_pb.ts';
import { machineNotFound } from '../../../operations/machines/machine-not-found.ts';
import {
  addInput,
  isInputTaken,
  notConnected,
  takeInputBack,
} from '../../../store/consoles/console-input.ts';
import { readOutput } from '../../../store/consoles/console-output.ts';
import {
  closeSession,
  findSessionMachine,
  type OpenedSession,
  openSession,
  releaseTurn,
  sessionNotFound,
  takeTurn,
} from '../../../store/consoles/console-sessions.ts';
import { findConsole } from '../../../store/consoles/find-console.ts';
import { recordChange } from '../../../store/events/record-change.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import { defineService, type Service } from '../service.ts';
import { consoleMessage } from './console-message.ts';
import { offsetOf, readConsole, tailOf } from './read-console.ts';

/** How long a writer waits for the replica that holds the connection. */
const TYPED_WITHIN_MS = 5_000;
const TYPED_POLL_MS = 250;

export function consoleService(dependencies: ServerDependencies): Service {
  const { database, now } = dependencies;
  const known = (sessionId: string, caller: Caller) => knownSession(dependencies, sessionId, caller);
  const shown = async (machineId: string) => consoleMessage(await findConsole(database, machineId));
  return defineService(
    ConsoleService,
    {
      async getConsole(request, { caller }) {
        const { machineId } = await knownMachine(dependencies, request.machineId, caller);
        return shown(machineId);
      },
      async openConsole(request, { caller: { actor, ...caller } }) {
        const machine = await knownMachine(dependencies, request.machineId, caller);
        checkSupported(dependencies, machine);
        const { machineId } = machine;
        const opened = { sessionId: dependencies.newConsoleSessionId(), machineId };
        await database.transaction((session) => openSession(session, opened, { actor, at: now() }));
        return { sessionId: opened.sessionId, console: await shown(machineId) };
      },
      async *readConsole(request, { caller, signal }) {
        tailOf(request.tailBytes);
        const { machineId } = await known(request.sessionId, caller);
        yield* readConsole(dependencies, request, machineId, { scope: caller.scope, stop: signal });
      },
      async takeConsole({ sessionId, steal }, { caller }) {
        const opened = await known(sessionId, caller);
        const turn = { ...opened, steal: steal ? 'steal' : 'ask' } as const;
        const change = { actor: caller.actor, at: now() };
        await database.transaction((session) => takeTurn(session, turn, change));
        return shown(opened.machineId);
      },
      async releaseConsole({ sessionId }, { caller }) {
        const opened = await known(sessionId, caller);
        const change = { actor: caller.actor, at: now() };
        await database.transaction((session) => releaseTurn(session, opened, change));
        return shown(opened.machineId);
      },
      writeConsole: (request, { caller, signal }) => writeConsole(dependencies, request, { caller, signal }),
      async closeConsole({ sessionId }, { caller }) {
        const opened = await known(sessionId, caller);
        const change = { actor: caller.actor, at: now() };
        await database.transaction((session) => closeSession(session, opened, change));
        return shown(opened.machineId);
      },
      async getConsoleLog(request, { caller }) {
        const { machineId } = await knownMachine(dependencies, request.machineId, caller);
        const log = await logOf(dependencies, machineId, request);
        const read = { kind: 'console', subject: machineId, to: 'read', machineId } as const;
        await database.transaction((session) => recordChange(session, { ...read, actor: caller.actor }));
        return log;
      },
    },
    {
      getConsole: 'operator',
      openConsole: 'operator',
      readConsole: 'operator',
      takeConsole: 'operator',
      releaseConsole: 'operator',
      writeConsole: 'operator',
      closeConsole: 'operator',
      getConsoleLog: 'operator',
    },
  );
}

async function knownMachine(
  { machines }: ServerDependencies,
  given: string,
  { scope }: Pick<Caller, 'scope'>,
): Promise<Machine> {
  const machineId = checkMachineId(given);
  const machine = await machines.find(machineId, scope);
  if (machine === null) throw machineNotFound(machineId);
  return machine;
}

/** A session of the caller's own, of a machine that is still in its scope. */
async function knownSession(
  { database, machines }: ServerDependencies,
  sessionId: string,
  { actor, scope }: Caller,
): Promise<OpenedSession> {
  if (sessionId === '') throw missingField('session_id');
  const machineId = await findSessionMachine(database, sessionId, actor);
  if (scope !== null && (await machines.find(machineId, scope)) === null) throw sessionNotFound(sessionId);
  return { sessionId, machineId };
}

function checkSupported({ providers }: ServerDependencies, { machineId, spec: { provider } }: Machine): void {
  if (providers.get(provider)?.capabilities.console) return;
  throw new Fault('CONSOLE_NOT_SUPPORTED', {
    message: `the provider ${provider} of ${machineId} has no serial console`,
    metadata: { machine_id: machineId, provider },
    violations: [{ subject: `machines/${machineId}`, description: 'its provider has no serial console' }],
  });
}

async function writeConsole(
  dependencies: ServerDependencies,
  { sessionId, data, sendBreak }: WriteConsoleRequest,
  { caller, signal }: { readonly caller: Caller; readonly signal: AbortSignal },
): Promise<Record<string, never>> {
  if (data.length > MAX_TYPED_BYTES) throw invalidField('data', `must have at most ${MAX_TYPED_BYTES} bytes`);
  if (data.length === 0 && !sendBreak) throw missingField('data');
  const opened = await knownSession(dependencies, sessionId, caller);
  const { database, consoleSignals } = dependencies;
  const waiting = consoleSignals.use(opened.machineId);
  try {
    const typed = { bytes: data, sendBreak };
    const inputId = await database.transaction((session) => addInput(session, opened, typed, caller.actor));
    const until = performance.now() + TYPED_WITHIN_MS;
    for (;;) {
      const { count } = waiting.signal;
      if (await isInputTaken(database, inputId)) return {};
      if (performance.now() >= until || signal.aborted) break;
      await waiting.signal.wait(count, signal, TYPED_POLL_MS);
    }
    if (!(await takeInputBack(database, inputId))) return {};
  } finally {
    waiting.release();
  }
  const { message } = await findConsole(database, opened.machineId);
  throw notConnected(opened.machineId, message || 'the replica that holds its connection does not answer');
}

async function logOf(
  { database }: ServerDependencies,
  machineId: string,
  request: GetConsoleLogRequest,
): Promise<MessageInitShape<typeof ConsoleLogSchema>> {
  if (request.maxBytes < 0 || request.maxBytes > MAX_READ_BYTES)
    throw invalidField('max_bytes', `must be between 0 and ${MAX_READ_BYTES}`);
  const tail = tailOf(request.tailBytes);
  const console = await findConsole(database, machineId);
  const asked = request.offset === undefined ? startOf(console, tail) : offsetOf(request.offset);
  const part = await readOutput(database, machineId, {
    offset: asked,
    maxBytes: request.maxBytes || MAX_READ_BYTES,
  });
  // Of a log that is read from its start, everything before it was dropped.
  const before = request.offset === undefined && tail === 0 ? 0 : asked;
  return {
    machineId,
    offset: BigInt(part.offset),
    data: part.bytes,
    nextOffset: BigInt(part.offset + part.bytes.length),
    endOffset: BigInt(Math.max(console.endOffset, part.offset + part.bytes.length)),
    droppedBytes: BigInt(part.offset - before),
    ...(part.firstAt ? { firstAt: timestampFromDate(part.firstAt) } : {}),
    ...(part.lastAt ? { lastAt: timestampFromDate(part.lastAt) } : {}),
  };
}

function startOf({ firstOffset, endOffset }: Console, tail: number): number {
  return tail === 0 ? firstOffset : Math.max(firstOffset, endOffset - tail);
}
