/**
 * Server reflection, for whoever has a token, from the descriptors that the code itself was generated with. They
 * are handed over as a descriptor set: the reflection package mangles map fields when it reads .proto files on
 * its own.
 */
import { create, type DescFile, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import * as grpc from '@grpc/grpc-js';
import { loadFileDescriptorSetFromBuffer } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import { Fault } from '../../domain/fault.ts';
import type { Authenticator } from '../authenticate.ts';
import { WIRE } from '../fault-wire.ts';
import type { Service } from './service.ts';

export interface ReflectionOptions {
  readonly services: readonly Service[];
  readonly authenticator: Authenticator;
}

export function addReflection(server: grpc.Server, { services, authenticator }: ReflectionOptions): void {
  const files = new Map<string, DescFile>();
  for (const { desc } of services) collect(desc.file, files);
  const set = create(FileDescriptorSetSchema, { file: [...files.values()].map((file) => file.proto) });
  const loaded = loadFileDescriptorSetFromBuffer(Buffer.from(toBinary(FileDescriptorSetSchema, set)));
  new ReflectionService(loaded, { services: services.map(({ desc }) => desc.typeName) }).addToServer({
    addService: (definition, implementation) =>
      server.addService(definition, guarded(implementation, authenticator)),
  });
}

type Handler = grpc.handleBidiStreamingCall<unknown, unknown>;

function guarded(
  implementation: grpc.UntypedServiceImplementation,
  authenticator: Authenticator,
): grpc.UntypedServiceImplementation {
  const guard =
    (handle: Handler): Handler =>
    (call) => {
      const [authorization] = call.metadata.get('authorization');
      authenticator.caller(authorization?.toString()).then(
        () => handle(call),
        (error: unknown) => call.emit('error', refusalOf(error)),
      );
    };
  return Object.fromEntries(
    Object.entries(implementation).map(([name, handle]) => [name, guard(handle as Handler)]),
  );
}

function refusalOf(error: unknown): Partial<grpc.StatusObject> {
  if (error instanceof Fault) return { code: WIRE[error.kind].grpc, details: error.message };
  return { code: grpc.status.INTERNAL, details: 'internal error' };
}

/** Dependencies first. */
function collect(file: DescFile, files: Map<string, DescFile>): void {
  for (const dependency of file.dependencies) collect(dependency, files);
  files.set(file.name, file);
}
