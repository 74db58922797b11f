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
import type { UniversalServerRequest, UniversalServerResponse } from '@connectrpc/connect/protocol';
import type { FastifyRequest } from 'fastify';
import { type Credentials, credentialsOfRequest } from '../access/credentials.ts';
import { retryHeaders, statusOf, WIRE } from '../fault-wire.ts';
import { askForBody } from '../limits/unread-body.ts';
import { withCheckedBody, withEmptyBody } from './connect-body.ts';
import { answerList } from './connect-list.ts';
import { type Handover, handoverOf } from './connect-unary.ts';
import { inOurWords } from './decode-failure.ts';
import {
  type AdmittedCall,
  admitCall,
  type CallDependencies,
  CallFailed,
  callStream,
  callUnary,
  failedCall,
  type IncomingCall,
  type Service,
} from './service.ts';

/** What the handler of a call finds: its caller, or why it is refused. */
type Admission = AdmittedCall | CallFailed;

const CREDENTIALS = createContextKey<Credentials | null>(null);
const ASK_FOR_BODY = createContextKey<() => void>(() => {});
const ADMISSION = createContextKey<Admission | null>(null);
/** The message of a call that was decoded before the library has its turn; null: the library decodes it. */
const DECODED = createContextKey<object | null>(null);
/** Of a call that connect-unary.ts has started. */
const HANDOVER = createContextKey<Handover | undefined>(undefined);

/** Connect's handlers see no connection; what they need of it is passed on here. */
export function connectContext(request: FastifyRequest): ContextValues {
  return createContextValues()
    .set(CREDENTIALS, credentialsOfRequest(request))
    .set(ASK_FOR_BODY, () => askForBody(request.raw))
    .set(HANDOVER, handoverOf(request));
}

export function connectRoutes(services: readonly Service[], dependencies: CallDependencies) {
  return (router: ConnectRouter): void => {
    for (const service of services) {
      // biome-ignore lint/suspicious/noExplicitAny: the shape of each method is known to its service, not here
      const implementation: Record<string, any> = {};
      for (const method of service.desc.methods) {
        implementation[method.localName] =
          method.methodKind === 'server_streaming'
            ? streaming(method, dependencies)
            : unary(method, dependencies);
      }
      router.service(service.desc as DescService, implementation);
    }
    const served = new Map(services.map((service) => [service.desc.typeName, service]));
    const handlers = router.handlers.map((handler) => {
      const service = served.get(handler.service.typeName);
      if (!service) throw new Error(`${handler.service.typeName} is not served`);
      return inOurWords(handler, (request) => admitted(service, handler.method, request, dependencies));
    });
    // The plugin takes its handlers from this list, after this function.
    router.handlers.splice(0, router.handlers.length, ...handlers);
  };
}

/**
 * The caller is found before the body is read. The library writes a refusal in the protocol of the client when its handler
 * throws it, so a refused call gets an empty message in place of its own, which nothing has read.
 */
async function admitted(
  service: Service,
  method: DescMethod,
  request: UniversalServerRequest,
  dependencies: CallDependencies,
): Promise<UniversalServerRequest | UniversalServerResponse> {
  const contextValues = request.contextValues ?? createContextValues();
  const credentials = contextValues.get(CREDENTIALS);
  if (credentials === null) throw new Error('a Connect call came without its credentials');
  const handover = contextValues.get(HANDOVER);
  if (handover && 'failed' in handover) {
    contextValues.set(ADMISSION, handover.failed);
    return withEmptyBody(method, request);
  }
  let call: AdmittedCall;
  try {
    call =
      handover?.call ?? (await admitCall({ service, method: method.localName, credentials }, dependencies));
  } catch (error) {
    contextValues.set(ADMISSION, error as CallFailed);
    return withEmptyBody(method, request);
  }
  try {
    contextValues.get(ASK_FOR_BODY)();
    const unread = handover ? { ...request, body: once(handover.body) } : request;
    const checked = await withCheckedBody(method, unread);
    const answered = await answerList(method, checked, call, dependencies);
    contextValues.set(ADMISSION, call).set(DECODED, checked.decoded);
    return answered ?? checked.request;
  } catch (error) {
    const refused = error instanceof CallFailed ? error : failedCall(call, dependencies, error);
    contextValues.set(ADMISSION, refused);
    return withEmptyBody(method, request);
  }
}

async function* once(bytes: Buffer): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes;
}

function incoming(request: unknown, context: HandlerContext): IncomingCall {
  const admission = context.values.get(ADMISSION);
  if (admission === null) throw new Error('a Connect call reached its handler without admission');
  if (admission instanceof CallFailed) throw admission;
  return { ...admission, signal: context.signal, request: () => context.values.get(DECODED) ?? request };
}

function unary(method: DescMethod, dependencies: CallDependencies) {
  return async (request: unknown, context: HandlerContext) => {
    try {
      return create(method.output, await callUnary(incoming(request, context), dependencies));
    } catch (error) {
      throw connectError(error);
    }
  };
}

/** Connect pulls messages and the service pushes them: at most one message waits in between. */
function streaming(method: DescMethod, dependencies: CallDependencies) {
  return async function* (request: unknown, context: HandlerContext) {
    const passage = new Passage();
    const done = called().then(
      () => passage.end(null),
      (error: unknown) => passage.end(connectError(error)),
    );
    async function called(): Promise<void> {
      await callStream(incoming(request, context), dependencies, {
        send: (message) => passage.put(message),
        sendShared: async ({ messages }) => {
          for (const message of messages) await passage.put(message);
        },
      });
    }
    try {
      for await (const message of passage) yield create(method.output, message);
    } finally {
      passage.abandon();
      await done;
    }
  };
}

type Message = MessageInitShape<DescMessage>;

/** One producer, one consumer, one message at a time. */
class Passage implements AsyncIterable<Message> {
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
