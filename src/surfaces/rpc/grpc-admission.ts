/**
 * Finds the caller of a gRPC call before its message is read. grpc-js reads a message only when the handler's turn has
 * come: until then the stream is paused, and an HTTP/2 client can send no more than its window. A refusal ends the call
 * there, and what the client still sends is dropped.
 */
import * as grpc from '@grpc/grpc-js';
import type { Caller } from '../../domain/access/caller.ts';
import { Fault } from '../../domain/error/fault.ts';
import { type Credentials, credentialsOfCall } from '../access/credentials.ts';
import { faultOf } from '../fault-wire.ts';
import { LARGEST_BODY_BYTES, requestTooLarge } from '../limits/message-limits.ts';
import { statusFor } from './grpc-status.ts';
import { type AdmittedCall, admitCall, type CallDependencies, CallFailed, type Service } from './service.ts';

type Call = Parameters<grpc.ServerInterceptor>[1];
type Status = Parameters<Call['sendStatus']>[0];

/** How long the message of a call may take to arrive. */
const MESSAGE_MS = 30_000;

export class GrpcAdmission {
  readonly #dependencies: CallDependencies;
  readonly #targets = new Map<string, { readonly service: Service; readonly method: string }>();
  /** By the metadata that a handler gets: it is the only object that comes along. */
  readonly #admitted = new WeakMap<grpc.Metadata, AdmittedCall>();

  constructor(services: readonly Service[], dependencies: CallDependencies) {
    this.#dependencies = dependencies;
    for (const service of services)
      for (const method of service.desc.methods)
        this.#targets.set(`/${service.desc.typeName}/${method.name}`, { service, method: method.localName });
  }

  /** For the handler of a call that was admitted. */
  of(metadata: grpc.Metadata): AdmittedCall {
    const call = this.#admitted.get(metadata);
    if (!call) throw new Error('a gRPC call reached its handler without admission');
    return call;
  }

  readonly interceptor: grpc.ServerInterceptor = ({ path, responseStream }, call) => {
    answerInOurWords(call);
    let timer: NodeJS.Timeout | undefined;
    let release = () => {};
    let isOver = false;
    const admit = async (metadata: grpc.Metadata, proceed: () => void) => {
      try {
        release = await this.#admit({ path, responseStream }, call, metadata);
        if (isOver) return release();
        timer = setTimeout(() => call.sendStatus(statusFor(tooLate())), MESSAGE_MS).unref();
        proceed();
      } catch (error) {
        call.sendStatus(refusal(error, this.#dependencies));
      }
    };
    return new grpc.ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, proceed) => void admit(metadata, () => proceed(metadata)),
          onReceiveMessage: (message, proceed) => {
            clearTimeout(timer);
            proceed(message);
          },
          onCancel: () => {
            isOver = true;
            clearTimeout(timer);
            release();
          },
        }),
    });
  };

  /** What it returns is called at the end of the call. */
  async #admit(
    { path, responseStream }: { readonly path: string; readonly responseStream: boolean },
    call: Call,
    metadata: grpc.Metadata,
  ): Promise<() => void> {
    const { authenticator, limits } = this.#dependencies;
    const credentials = this.#credentialsOf(call, metadata);
    const target = this.#targets.get(path);
    if (target) {
      this.#admitted.set(metadata, await admitCall({ ...target, credentials }, this.#dependencies));
      return () => {};
    }
    // Health, for anyone, and reflection.
    if (path.startsWith('/grpc.health.')) {
      limits.countAddress(credentials.address);
      return responseStream ? limits.openStreamOfAddress(credentials.address) : () => {};
    }
    const caller = await authenticator.caller(credentials);
    limits.countCall(caller);
    return responseStream ? this.#openStream(call, caller, credentials) : () => {};
  }

  /** A stream that no service handles ends with its caller's credentials, too. */
  #openStream(call: Call, caller: Caller, credentials: Credentials): () => void {
    const { authenticator, limits, streams } = this.#dependencies;
    const close = limits.openStream(caller);
    const stream = streams.open(caller, () => authenticator.callerAgain(credentials));
    stream.signal.addEventListener('abort', () =>
      call.sendStatus(refusal(stream.signal.reason, this.#dependencies)),
    );
    return () => {
      stream.close();
      close();
    };
  }

  #credentialsOf(call: Call, metadata: grpc.Metadata): Credentials {
    const given = {
      metadata,
      getPeer: () => call.getPeer(),
      getAuthContext: () => call.getAuthContext(),
    };
    return credentialsOfCall(given, this.#dependencies.proxies);
  }
}

function tooLate(): CallFailed {
  const fault = new Fault('MALFORMED_MESSAGE', { message: 'the message of the call did not arrive in time' });
  return new CallFailed(fault, '');
}

function refusal(error: unknown, { logUnexpected }: CallDependencies): Status {
  if (error instanceof CallFailed) return statusFor(error);
  return statusFor(
    new CallFailed(
      faultOf(error, '', (cause) => logUnexpected(cause, '', 'admission')),
      '',
    ),
  );
}

/** What grpc-js says of a message that it cannot read; its texts and codes are those of an error in the server. */
const UNREADABLE = [
  [/^Invalid grpc-timeout/, () => malformed('grpc-timeout is not a number with a unit')],
  [/^Failed to decompress/, () => malformed('the message is not compressed as grpc-encoding says')],
  [/larger than/, () => requestTooLarge(LARGEST_BODY_BYTES)],
] as const;

function malformed(what: string): Fault {
  return new Fault('MALFORMED_MESSAGE', { message: `the request can't be read: ${what}` });
}

/** grpc-js sends the status of what it refuses itself through this method of the innermost call. */
function answerInOurWords(call: Call): void {
  const send = call.sendStatus.bind(call);
  call.sendStatus = (status) => {
    const isOurs = status.metadata?.get('grpc-status-details-bin').length;
    const found = isOurs ? undefined : UNREADABLE.find(([text]) => text.test(status.details ?? ''));
    send(found ? statusFor(new CallFailed(found[1](), '')) : status);
  };
}
