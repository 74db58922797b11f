/** The HTTP mount of the same services: Connect (JSON and binary) and gRPC-Web, for browsers and curl. */
import {
  create,
  type DescMessage,
  type DescMethod,
  type DescService,
  type MessageInitShape,
} from '@bufbuild/protobuf';
import {
  type Code,
  ConnectError,
  type ConnectRouter,
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from '@connectrpc/connect';
import type { FastifyRequest } from 'fastify';
import { type Credentials, credentialsOfRequest } from '../access/credentials.ts';
import { retryHeaders, statusOf, WIRE } from '../fault-wire.ts';
import { inOurWords } from './decode-failure.ts';
import {
  type CallDependencies,
  CallFailed,
  callStream,
  callUnary,
  type IncomingCall,
  type Service,
} from './service.ts';

const CREDENTIALS = createContextKey<Credentials>({
  authorization: undefined,
  cookie: undefined,
  certificate: null,
  address: '',
});

/** Connect's handlers see no connection; what they need of it is passed on here. */
export function connectContext(request: FastifyRequest): ContextValues {
  return createContextValues().set(CREDENTIALS, credentialsOfRequest(request));
}

export function connectRoutes(services: readonly Service[], dependencies: CallDependencies) {
  return (router: ConnectRouter): void => {
    for (const service of services) {
      // biome-ignore lint/suspicious/noExplicitAny: the shape of each method is known to its service, not here
      const implementation: Record<string, any> = {};
      for (const method of service.desc.methods) {
        implementation[method.localName] =
          method.methodKind === 'server_streaming'
            ? streaming(service, method, dependencies)
            : unary(service, method, dependencies);
      }
      router.service(service.desc as DescService, implementation);
    }
    // The plugin takes its handlers from this list, after this function.
    router.handlers.splice(0, router.handlers.length, ...router.handlers.map(inOurWords));
  };
}

function incoming(
  service: Service,
  method: DescMethod,
  request: unknown,
  context: HandlerContext,
): IncomingCall {
  return {
    service,
    method: method.localName,
    credentials: context.values.get(CREDENTIALS),
    signal: context.signal,
    request: () => request,
  };
}

function unary(service: Service, method: DescMethod, dependencies: CallDependencies) {
  return async (request: unknown, context: HandlerContext) => {
    try {
      return create(
        method.output,
        await callUnary(incoming(service, method, request, context), dependencies),
      );
    } catch (error) {
      throw connectError(error);
    }
  };
}

/** Connect pulls messages and the service pushes them: at most one message waits in between. */
function streaming(service: Service, method: DescMethod, dependencies: CallDependencies) {
  return async function* (request: unknown, context: HandlerContext) {
    const handover = new Handover();
    const done = callStream(incoming(service, method, request, context), dependencies, (message) =>
      handover.put(message),
    ).then(
      () => handover.end(null),
      (error: unknown) => handover.end(connectError(error)),
    );
    try {
      for await (const message of handover) yield create(method.output, message);
    } finally {
      handover.abandon();
      await done;
    }
  };
}

type Message = MessageInitShape<DescMessage>;

/** One producer, one consumer, one message at a time. */
class Handover implements AsyncIterable<Message> {
  #message: Message | null = null;
  #taken: () => void = () => {};
  #arrived: () => void = () => {};
  #ended: { error: ConnectError | null } | null = null;
  #abandoned = false;

  put(message: Message): Promise<void> {
    if (this.#abandoned) return Promise.resolve();
    this.#message = message;
    return new Promise((resolve) => {
      this.#taken = resolve;
      this.#arrived();
    });
  }

  end(error: ConnectError | null): void {
    this.#ended = { error };
    this.#arrived();
  }

  abandon(): void {
    this.#abandoned = true;
    this.#taken();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Message> {
    for (;;) {
      if (this.#message !== null) {
        const message = this.#message;
        this.#message = null;
        yield message;
        this.#taken();
      } else if (this.#ended !== null) {
        if (this.#ended.error !== null) throw this.#ended.error;
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#arrived = resolve;
        });
      }
    }
  }
}

function connectError(error: unknown): ConnectError {
  if (!(error instanceof CallFailed)) throw error;
  const { fault, requestId } = error;
  const failure = new ConnectError(fault.message, WIRE[fault.kind].grpc as Code, retryHeaders(fault));
  failure.details = statusOf(fault, requestId).details.map((detail) => ({
    type: detail.typeUrl.slice(detail.typeUrl.lastIndexOf('/') + 1),
    value: detail.value,
  }));
  return failure;
}
