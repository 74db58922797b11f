/**
 * A service is defined once and mounted twice, on gRPC and on Connect. Handlers are functions of a request and a context;
 * what every call needs (authentication, the role, the log entry, the error) is in handleCall and nowhere else.
 */
import { randomUUID } from 'node:crypto';
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
import { type Fault, invalidField } from '../../domain/error/fault.ts';
import type { Authenticator } from '../access/authenticator.ts';
import type { Credentials } from '../access/credentials.ts';
import { methodName } from '../access/known-methods.ts';
import { requirePermission } from '../access/require-permission.ts';
import { faultOf } from '../fault-wire.ts';
import { isStorable, unstorablePath } from '../storable.ts';

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
      ? (request: MessageShape<I>, context: CallContext) => AsyncIterable<MessageInitShape<O>>
      : never;

export type Handlers<S extends DescService> = { readonly [K in keyof S['method']]: Handler<S['method'][K]> };

/** Which role each method needs. */
export type Roles<S extends DescService> = { readonly [K in keyof S['method']]: Role };

type AnyUnary = (request: unknown, context: CallContext) => Promise<MessageInitShape<DescMessage>>;
type AnyStream = (request: unknown, context: CallContext) => AsyncIterable<MessageInitShape<DescMessage>>;

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
  readonly logUnexpected: (error: unknown, requestId: string, method: string) => void;
  readonly logCall: (entry: CallEntry) => void;
  readonly monotonicNow: () => number;
}

export interface CallEntry {
  readonly method: string;
  readonly requestId: string;
  readonly caller: string;
  readonly outcome: string;
  readonly ms: number;
}

/** A call as a mount sees it. */
export interface IncomingCall {
  readonly service: Service;
  readonly method: string;
  readonly credentials: Credentials;
  readonly signal: AbortSignal;
  /** Decodes the request; throws a Fault when it is malformed. */
  readonly request: () => unknown;
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

export async function callUnary(
  call: IncomingCall,
  dependencies: CallDependencies,
): Promise<MessageInitShape<DescMessage>> {
  return handleCall(call, dependencies, (request, context) =>
    (call.service.handlers[call.method] as AnyUnary)(request, context),
  );
}

/** Hands every message to `send`, which resolves when there is room for the next. */
export async function callStream(
  call: IncomingCall,
  dependencies: CallDependencies,
  send: (message: MessageInitShape<DescMessage>) => Promise<void>,
): Promise<void> {
  await handleCall(call, dependencies, async (request, context) => {
    for await (const message of (call.service.handlers[call.method] as AnyStream)(request, context)) {
      if (context.signal.aborted) return;
      // A stream ends when its token is revoked or expires; the authenticator caches its answer for seconds.
      checkRole(await dependencies.authenticator.caller(call.credentials), call);
      await send(message);
    }
  });
}

async function handleCall<T>(
  call: IncomingCall,
  dependencies: CallDependencies,
  work: (request: unknown, context: CallContext) => Promise<T>,
): Promise<T> {
  const requestId = randomUUID();
  const method = `${call.service.desc.typeName}/${call.method}`;
  const startedAt = dependencies.monotonicNow();
  let caller = '-';
  const log = (outcome: string) =>
    dependencies.logCall({ method, requestId, caller, outcome, ms: dependencies.monotonicNow() - startedAt });
  try {
    const identified = await dependencies.authenticator.caller(call.credentials);
    caller = `${identified.role}:${identified.actor.id}`;
    checkRole(identified, call);
    const request = call.request();
    checkStorable(request);
    const result = await work(request, { caller: identified, signal: call.signal, requestId });
    log('ok');
    return result;
  } catch (error) {
    const fault = faultOf(error, requestId, (cause) => dependencies.logUnexpected(cause, requestId, method));
    log(fault.reason);
    throw new CallFailed(fault, requestId);
  }
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

function checkRole(caller: Caller, { service, method }: IncomingCall): void {
  requirePermission(caller, methodName(service.desc, method), service.roles[method] ?? 'admin');
}
