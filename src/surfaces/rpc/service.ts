/**
 * A service is defined once and mounted twice, on gRPC and on Connect. Handlers are functions of a request and a context;
 * what every call needs is here and nowhere else: admitCall finds the caller and checks its role and rate before the message
 * is read, handleCall reads it and answers. Both log the call and turn errors into faults.
 */
import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type {
  DescMessage,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf';
import type { Caller } from '../../domain/access/caller.ts';
import type { Role } from '../../domain/actor.ts';
import { Fault, invalidField } from '../../domain/error/fault.ts';
import type { RefusalLog } from '../../store/events/refusal-log.ts';
import { actingCaller, anonymousActor } from '../access/acting-caller.ts';
import type { Authenticator } from '../access/authenticator.ts';
import type { Credentials } from '../access/credentials.ts';
import { methodName } from '../access/known-methods.ts';
import type { OpenStreams } from '../access/open-streams.ts';
import { requirePermission } from '../access/require-permission.ts';
import type { TrustedProxies } from '../access/trusted-proxies.ts';
import { faultOf } from '../fault-wire.ts';
import { takesManyIds } from '../limits/message-limits.ts';
import type { RequestLimits } from '../limits/request-limits.ts';
import { isStorable, unstorablePath } from '../storable.ts';
import { asSeenBy } from '../viewer-words.ts';
import { SharedBatch } from './shared-batch.ts';

export interface CallContext {
  readonly caller: Caller;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
  readonly requestId: string;
}

type Handler<Method> =
  Method extends DescMethodUnary<infer I, infer O>
    ? (request: MessageShape<I>, context: CallContext) => Promise<MessageInitShape<O>>
    : Method extends DescMethodServerStreaming<infer I, infer O>
      ? (request: MessageShape<I>, context: CallContext) => AsyncIterable<MessageInitShape<O> | SharedBatch>
      : never;

export type Handlers<S extends DescService> = { readonly [K in keyof S['method']]: Handler<S['method'][K]> };

/** Which role each method needs. */
export type Roles<S extends DescService> = { readonly [K in keyof S['method']]: Role };

type AnyUnary = (request: unknown, context: CallContext) => Promise<MessageInitShape<DescMessage>>;
type AnyStream = (
  request: unknown,
  context: CallContext,
) => AsyncIterable<MessageInitShape<DescMessage> | SharedBatch>;

export interface Service {
  readonly desc: DescService;
  readonly handlers: Readonly<Record<string, AnyUnary | AnyStream>>;
  readonly roles: Readonly<Record<string, Role>>;
}

export function defineService<S extends DescService>(
  desc: S,
  handlers: Handlers<S>,
  roles: Roles<S>,
): Service {
  return {
    desc,
    handlers: handlers as unknown as Service['handlers'],
    roles: roles as unknown as Service['roles'],
  };
}

export interface CallDependencies {
  readonly authenticator: Authenticator;
  readonly limits: RequestLimits;
  readonly streams: OpenStreams;
  readonly proxies: TrustedProxies;
  readonly logUnexpected: (error: unknown, requestId: string, method: string) => void;
  readonly logCall: (entry: CallEntry) => void;
  /** Refused and failed calls become events. */
  readonly refusals: Pick<RefusalLog, 'record'>;
  readonly monotonicNow: () => number;
  /** Of this server. */
  readonly httpPort: () => number;
}

export interface CallEntry {
  readonly method: string;
  readonly requestId: string;
  readonly caller: string;
  readonly outcome: string;
  readonly ms: number;
}

/** A call of which only the headers were read. */
export interface ArrivingCall {
  readonly service: Service;
  readonly method: string;
  readonly credentials: Credentials;
}

/** Its caller is known and may make it. */
export interface AdmittedCall extends ArrivingCall {
  readonly caller: Caller;
  readonly requestId: string;
  readonly startedAt: number;
  /** Of the authenticator, when the caller was let in. */
  readonly changes: number;
}

/** A call with its message. */
export interface IncomingCall extends AdmittedCall {
  readonly signal: AbortSignal;
  /** Decodes the request, at once or in slices; throws a Fault when it is malformed. */
  readonly request: () => unknown | Promise<unknown>;
}

export class CallFailed extends Error {
  readonly fault: Fault;
  readonly requestId: string;

  constructor(fault: Fault, requestId: string) {
    super(fault.message);
    this.fault = fault;
    this.requestId = requestId;
  }
}

export function callUnary(
  call: IncomingCall,
  dependencies: CallDependencies,
): Promise<MessageInitShape<DescMessage>> {
  return handleCall(call, dependencies, (request, context) =>
    (call.service.handlers[call.method] as AnyUnary)(request, context).then((answer) =>
      asSeenBy(context.caller, answer),
    ),
  );
}

/** Where the messages of a stream go. Null: there is room for the next at once; otherwise resolves when there is. */
export interface StreamSink {
  send(message: MessageInitShape<DescMessage>): Promise<void> | null;
  sendShared(batch: SharedBatch): Promise<void> | null;
}

export async function callStream(
  call: IncomingCall,
  dependencies: CallDependencies,
  sink: StreamSink,
): Promise<void> {
  await handleCall(call, dependencies, async (request, context) => {
    const { caller } = context;
    const close = dependencies.limits.openStream(call.caller);
    const stream = dependencies.streams.open(call.caller, async () =>
      checkRole(await dependencies.authenticator.callerAgain(call.credentials), call),
    );
    const signal = AbortSignal.any([context.signal, stream.signal]);
    try {
      const messages = (call.service.handlers[call.method] as AnyStream)(request, {
        caller,
        requestId: context.requestId,
        signal,
      });
      for await (const message of messages) {
        if (signal.aborted) break;
        const sent =
          message instanceof SharedBatch
            ? sink.sendShared(message.seenBy(caller))
            : sink.send(asSeenBy(caller, message));
        // A client that reads nothing must not keep a stream that its caller may not have any more.
        if (sent !== null) await orAborted(sent, stream.signal);
      }
      stream.signal.throwIfAborted();
    } finally {
      stream.close();
      close();
    }
  });
}

/** Rejects with the reason of the abort, if that comes first. A race with a promise of the whole stream would never be freed. */
async function orAborted(sent: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  let onAbort = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort);
  });
  try {
    await Promise.race([sent, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Before the message is read: a caller that may not make the call costs neither memory nor time for it. */
export async function admitCall(call: ArrivingCall, dependencies: CallDependencies): Promise<AdmittedCall> {
  return admitCallNow(call, dependencies);
}

/** The same without a promise where the caller is known. Throws a refusal, too. */
export function admitCallNow(
  { service, method, credentials }: ArrivingCall,
  dependencies: CallDependencies,
): AdmittedCall | Promise<AdmittedCall> {
  const { authenticator, monotonicNow } = dependencies;
  const { changes } = authenticator;
  const requestId = randomUUID();
  const startedAt = monotonicNow();
  const refuse = (error: unknown, caller: Caller | null): never => {
    const call = { service, method, credentials, caller, requestId, startedAt };
    throw failedCall(call, dependencies, withHttpPort(error, dependencies));
  };
  const admit = (found: Caller): AdmittedCall => {
    let caller: Caller | null = null;
    try {
      caller = actingCaller(found, requestId, credentials);
      dependencies.limits.countCall(caller);
      checkRole(caller, { service, method });
      return { service, method, credentials, caller, requestId, startedAt, changes };
    } catch (error) {
      return refuse(error, caller);
    }
  };
  let found: Caller | Promise<Caller>;
  try {
    found = authenticator.callerNow(credentials);
  } catch (error) {
    return refuse(error, null);
  }
  return found instanceof Promise ? found.then(admit, (error: unknown) => refuse(error, null)) : admit(found);
}

/** Who has no credentials yet learns where to get some: `ingot login` asks on the HTTP port how to sign in. */
function withHttpPort(error: unknown, { httpPort }: CallDependencies): unknown {
  if (!(error instanceof Fault) || error.reason !== 'UNAUTHENTICATED') return error;
  const { message, metadata, context } = error;
  return new Fault('UNAUTHENTICATED', {
    message,
    metadata: { ...metadata, http_port: String(httpPort()) },
    context,
  });
}

async function handleCall<T>(
  call: IncomingCall,
  dependencies: CallDependencies,
  work: (request: unknown, context: CallContext) => Promise<T>,
): Promise<T> {
  try {
    if (call.changes !== dependencies.authenticator.changes) await checkAgain(call, dependencies);
    const read = call.request();
    const request = read instanceof Promise ? await read : read;
    if (takesManyIds(call.service.desc.method[call.method]?.name ?? '')) {
      await nextTurn();
      checkStorable(request);
      await nextTurn();
    } else checkStorable(request);
    const result = await work(request, call);
    logOutcome(call, dependencies, 'ok');
    return result;
  } catch (error) {
    throw failedCall(call, dependencies, error);
  }
}

/** A client may take its time between the headers of a call and its message: who was revoked meanwhile is refused. */
async function checkAgain(call: IncomingCall, { authenticator }: CallDependencies): Promise<void> {
  checkRole(await authenticator.callerAgain(call.credentials), call);
}

interface LoggedCall extends ArrivingCall {
  readonly caller: Caller | null;
  readonly requestId: string;
  readonly startedAt: number;
  /** Once its message is read. */
  readonly signal?: AbortSignal;
}

/** Logs the call with its error, and records the refusal. */
export function failedCall(call: LoggedCall, dependencies: CallDependencies, error: unknown): CallFailed {
  const { requestId } = call;
  const fault = faultOf(error, requestId, (cause) =>
    dependencies.logUnexpected(cause, requestId, nameOf(call)),
  );
  logOutcome(call, dependencies, fault.reason);
  recordRefusal(call, dependencies, fault);
  return new CallFailed(fault, requestId);
}

/** A client that hung up was not refused, and neither was one that must try again. */
function recordRefusal(call: LoggedCall, { refusals }: CallDependencies, { kind, reason }: Fault): void {
  if (call.signal?.aborted || kind === 'unavailable') return;
  const actor = call.caller?.actor ?? anonymousActor(call.credentials.address, call.requestId);
  refusals.record({ actor, method: nameOf(call), reason });
}

function logOutcome(call: LoggedCall, { logCall, monotonicNow }: CallDependencies, outcome: string): void {
  const { caller, requestId, startedAt } = call;
  logCall({
    method: nameOf(call),
    requestId,
    caller: caller ? `${caller.role}:${caller.actor.id}` : '-',
    outcome,
    ms: monotonicNow() - startedAt,
  });
}

function nameOf({ service, method }: Pick<ArrivingCall, 'service' | 'method'>): string {
  return methodName(service.desc, method);
}

/** Fields that are checked as a whole where they are read, with reasons of their own. */
const READ_WHOLE: ReadonlySet<string | undefined> = new Set(['filter', 'pageToken']);

/** Refuses text that PostgreSQL cannot store, before a handler sees it, and names its field. */
function checkStorable(request: unknown): void {
  const path = unstorablePath(request);
  if (path && !READ_WHOLE.has(path[0]))
    throw invalidField(fieldName(path), 'must not contain NUL characters or lone surrogates');
}

/** The path of a field as the protos write it: `spec.mac_addresses[0]`. */
function fieldName(path: readonly string[]): string {
  const name = path
    .map((part) => (isStorable(part) ? part.slice(0, 80) : JSON.stringify(part.slice(0, 80))))
    .map((part) => part.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
    .reduce((whole, part) => (/^\d+$/.test(part) ? `${whole}[${part}]` : `${whole}.${part}`));
  return name.replace(/^machine\.(?=labels|spec)/, '');
}

function checkRole(caller: Caller, call: Pick<ArrivingCall, 'service' | 'method'>): void {
  requirePermission(caller, nameOf(call), call.service.roles[call.method] ?? 'admin');
}
