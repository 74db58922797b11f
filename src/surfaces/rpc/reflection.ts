/**
 * Server reflection from the descriptors that the code itself was generated with. They are handed over as a
 * descriptor set: the reflection package mangles map fields when it reads .proto files on its own.
 */
import { create, type DescFile, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import type * as grpc from '@grpc/grpc-js';
import { loadFileDescriptorSetFromBuffer } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import type { Service } from './service.ts';

export function addReflection(server: grpc.Server, services: readonly Service[]): void {
  const files = new Map<string, DescFile>();
  for (const { desc } of services) collect(desc.file, files);
  const set = create(FileDescriptorSetSchema, { file: [...files.values()].map((file) => file.proto) });
  const loaded = loadFileDescriptorSetFromBuffer(Buffer.from(toBinary(FileDescriptorSetSchema, set)));
  new ReflectionService(loaded, { services: services.map(({ desc }) => desc.typeName) }).addToServer(server);
}

/** Dependencies first. */
function collect(file: DescFile, files: Map<string, DescFile>): void {
  for (const dependency of file.dependencies) collect(dependency, files);
  files.set(file.name, file);
}
