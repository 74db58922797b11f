/** A service of baremetal.v1 (docs/api-v1.md): its errors use the words of that API. */
import type { DescService } from '@bufbuild/protobuf';
import { Fault } from '../../../domain/error/fault.ts';
import { v1Fault } from '../../../domain/v1/v1-words.ts';
import { type CallContext, defineService, type Handlers, type Roles, type Service } from '../service.ts';

export function defineV1Service<S extends DescService>(
  desc: S,
  handlers: Handlers<S>,
  roles: Roles<S>,
): Service {
  const service = defineService(desc, handlers, roles);
  const translated = service.desc.methods.map(({ localName, methodKind }) => {
    const handler = service.handlers[localName] as (request: unknown, context: CallContext) => unknown;
    const isStream = methodKind === 'server_streaming';
    return [localName, isStream ? stream(handler as AnyStream) : unary(handler as AnyUnary)] as const;
  });
  return { ...service, handlers: Object.fromEntries(translated) as Service['handlers'] };
}

type AnyUnary = (request: unknown, context: CallContext) => Promise<unknown>;
type AnyStream = (request: unknown, context: CallContext) => AsyncIterable<unknown>;

function unary(handler: AnyUnary): AnyUnary {
  return async (request, context) => {
    try {
      return await handler(request, context);
    } catch (error) {
      throw translatedError(error);
    }
  };
}

function stream(handler: AnyStream): AnyStream {
  return async function* (request, context) {
    try {
      yield* handler(request, context);
    } catch (error) {
      throw translatedError(error);
    }
  };
}

function translatedError(error: unknown): unknown {
  return error instanceof Fault ? v1Fault(error) : error;
}
