/**
 * Server reflection for every caller with a token, from the descriptors that the code was generated from. The package
 * implements the protocol; its own answers merge the files of a package and drop their imports, so that no strict
 * client can link them.
 */
import { type DescEnum, type DescFile, type DescMessage, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import * as grpc from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import type { Service } from './service.ts';

/** The oneof of the protocol: the one field that is set is the question. */
interface Question {
  readonly fileByFilename?: string;
  readonly fileContainingSymbol?: string;
  readonly fileContainingExtension?: { readonly containingType: string };
  readonly allExtensionNumbersOfType?: string;
  readonly listServices?: string;
}

type Answer = Readonly<Record<string, unknown>>;
type Handler = grpc.handleBidiStreamingCall<Question, Answer>;

/** The caller is known before it gets here (grpc-admission.ts). */
export function addReflection(server: grpc.Server, services: readonly Service[]): void {
  let schema: Schema | null = null;
  const answer = (question: Question) => {
    schema ??= new Schema(services);
    return schema.answer(question);
  };
  const handle: Handler = (call) => {
    call.on('data', (question: Question) => call.write(answer(question)));
    call.on('end', () => call.end());
  };
  for (const definition of reflectionServices())
    server.addService(definition, { ServerReflectionInfo: handle });
}

let knownServices: readonly grpc.ServiceDefinition[] | null = null;

/** The versions of the protocol. The package parses their protos, which costs as much as all of our own services do. */
function reflectionServices(): readonly grpc.ServiceDefinition[] {
  if (knownServices) return knownServices;
  const found: grpc.ServiceDefinition[] = [];
  new ReflectionService({}).addToServer({ addService: (definition) => found.push(definition) });
  knownServices = found;
  return found;
}

/** Every file that the services need, by its name and by the symbols that it declares. */
class Schema {
  readonly #services: readonly string[];
  readonly #files = new Map<string, DescFile>();
  readonly #symbols = new Map<string, DescFile>();

  constructor(services: readonly Service[]) {
    this.#services = services.map(({ desc }) => desc.typeName);
    for (const { desc } of services) for (const file of withImports(desc.file)) this.#add(file);
  }

  answer(question: Question): Answer {
    return { validHost: '', originalRequest: question, ...this.#response(question) };
  }

  #response(question: Question): Answer {
    if (question.listServices !== undefined)
      return { listServicesResponse: { service: this.#services.map((name) => ({ name })) } };
    if (question.fileContainingSymbol !== undefined)
      return filesResponse(question.fileContainingSymbol, this.#symbols);
    if (question.fileByFilename !== undefined) return filesResponse(question.fileByFilename, this.#files);
    if (question.allExtensionNumbersOfType !== undefined) {
      const baseTypeName = question.allExtensionNumbersOfType;
      if (!this.#symbols.has(baseTypeName)) return notFound(baseTypeName);
      return { allExtensionNumbersResponse: { baseTypeName, extensionNumber: [] } };
    }
    return notFound(question.fileContainingExtension?.containingType ?? 'what was asked for');
  }

  #add(file: DescFile): void {
    this.#files.set(file.proto.name, file);
    for (const name of symbolsOf(file)) this.#symbols.set(name, file);
  }
}

function filesResponse(name: string, known: ReadonlyMap<string, DescFile>): Answer {
  const file = known.get(name);
  if (!file) return notFound(name);
  const fileDescriptorProto = withImports(file).map(({ proto }) =>
    Buffer.from(toBinary(FileDescriptorProtoSchema, proto)),
  );
  return { fileDescriptorResponse: { fileDescriptorProto } };
}

function notFound(name: string): Answer {
  return { errorResponse: { errorCode: grpc.status.NOT_FOUND, errorMessage: `${name} is not known here` } };
}

/** The file itself first, then what it imports, each once. */
function withImports(file: DescFile, seen = new Set<DescFile>()): DescFile[] {
  if (seen.has(file)) return [];
  seen.add(file);
  return [file, ...file.dependencies.flatMap((imported) => withImports(imported, seen))];
}

function symbolsOf(file: DescFile): string[] {
  return [
    ...file.messages.flatMap(messageSymbols),
    ...file.enums.flatMap(enumSymbols),
    ...file.services.flatMap((service) => [
      service.typeName,
      ...service.methods.map((method) => `${service.typeName}.${method.name}`),
    ]),
  ];
}

function messageSymbols(message: DescMessage): string[] {
  return [
    message.typeName,
    ...message.fields.map((field) => `${message.typeName}.${field.name}`),
    ...message.nestedMessages.flatMap(messageSymbols),
    ...message.nestedEnums.flatMap(enumSymbols),
  ];
}

function enumSymbols(desc: DescEnum): string[] {
  const scope = desc.typeName.slice(0, desc.typeName.lastIndexOf('.'));
  return [desc.typeName, ...desc.values.map((value) => `${scope}.${value.name}`)];
}
