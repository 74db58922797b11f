/**
 * The reference of the gRPC APIs, from the protos and their comments, with the role that each method needs from the
 * server's own tables.
 */
import { spawnSync } from 'node:child_process';
import { fromBinary } from '@bufbuild/protobuf';
import {
  type DescriptorProto,
  type EnumDescriptorProto,
  type FieldDescriptorProto,
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  type FileDescriptorProto,
  FileDescriptorSetSchema,
  type MethodDescriptorProto,
} from '@bufbuild/protobuf/wkt';
import { packageRoot } from '../src/package-root.ts';
import { adminService } from '../src/surfaces/rpc/admin/admin-service.ts';
import { bmcService } from '../src/surfaces/rpc/fleet/bmc-service.ts';
import { consoleService } from '../src/surfaces/rpc/fleet/console-service.ts';
import { fleetService } from '../src/surfaces/rpc/fleet/fleet-service.ts';
import { hardwareService } from '../src/surfaces/rpc/fleet/hardware-service.ts';
import { rolloutService } from '../src/surfaces/rpc/fleet/rollout-service.ts';
import { viewService } from '../src/surfaces/rpc/fleet/view-service.ts';
import type { ServerDependencies } from '../src/surfaces/rpc/server-dependencies.ts';
import { machineServiceV1 } from '../src/surfaces/rpc/v1/machine-service.ts';
import { planService } from '../src/surfaces/rpc/v1/plan-service.ts';
import { runService } from '../src/surfaces/rpc/v1/run-service.ts';
import { machineService } from '../src/surfaces/rpc/v2/machine-service.ts';
import { operationService } from '../src/surfaces/rpc/v2/operation-service.ts';
import { code, page, table } from './markdown.ts';

const NOTE =
  '<!-- Written by scripts/pages.ts from the protos and the tables of roles. Change those, not this page. -->';

/** One page for each package, in the order in which a reader meets them. */
const PACKAGES = {
  'baremetal.v2': {
    file: 'grpc-v2',
    about: 'Machines and operations. [operations-api.md](../operations-api.md) explains it.',
  },
  'baremetal.v1': {
    file: 'grpc-v1',
    about: 'Machines, plans and runs. [api-v1.md](../api-v1.md) explains it.',
  },
  'baremetal.fleet.v1': {
    file: 'grpc-fleet',
    about: 'The fleet as a whole: counts, ids in order, the event log.',
  },
  'baremetal.admin.v1': {
    file: 'grpc-admin',
    about: 'Agents, workflows, operator actions, flags, pools, plans and tokens.',
  },
} as const;

/** Numbers of the fields in descriptor.proto that lead from a file to what has a comment. */
const PATH = {
  message: 4,
  enum: 5,
  service: 6,
  field: 2,
  nestedMessage: 3,
  nestedEnum: 4,
  enumValue: 2,
  method: 2,
};

/** Path to page text. */
export function grpcReference(): Map<string, string> {
  const files = describedFiles();
  return new Map(
    Object.entries(PACKAGES).map(([name, { file, about }]) => [
      `docs/reference/${file}.md`,
      packagePage(
        name,
        about,
        files.filter((one) => one.package === name),
      ),
    ]),
  );
}

function describedFiles(): FileDescriptorProto[] {
  const root = packageRoot();
  const { status, stdout, stderr } = spawnSync(
    `${root}/node_modules/.bin/buf`,
    ['build', '-o', '-#format=binpb'],
    {
      cwd: root,
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  if (status !== 0) throw new Error(`buf build failed: ${stderr}`);
  return fromBinary(FileDescriptorSetSchema, stdout).file;
}

function packagePage(name: string, about: string, files: readonly FileDescriptorProto[]): string {
  const described = files.map((file) => ({ file, comments: commentsOf(file) }));
  return page([
    `# ${name}`,
    NOTE,
    about,
    ...described.flatMap(({ file, comments }) => servicesOf(file, comments)),
    '## Messages',
    ...described.flatMap(({ file, comments }) =>
      file.messageType.flatMap((message, index) => messageOf(message, [PATH.message, index], comments, '')),
    ),
    ...enumsOf(described),
  ]);
}

type Comments = ReadonlyMap<string, string>;

function commentsOf({ sourceCodeInfo }: FileDescriptorProto): Comments {
  const text = (leading: string, trailing: string) =>
    [leading, trailing]
      .map((one) => one.trim().replaceAll(/\s*\n\s*/g, ' '))
      .filter((one) => one !== '')
      .join(' ');
  return new Map(
    (sourceCodeInfo?.location ?? []).map(({ path, leadingComments, trailingComments }) => [
      path.join('.'),
      text(leadingComments, trailingComments),
    ]),
  );
}

function commentAt(comments: Comments, ...path: readonly number[]): string {
  return comments.get(path.join('.')) ?? '';
}

function servicesOf(file: FileDescriptorProto, comments: Comments): string[] {
  const roles = neededRoles();
  return file.service.flatMap((service, index) => [
    `## ${service.name}`,
    ...nonEmpty(commentAt(comments, PATH.service, index)),
    table(
      ['method', 'request', 'response', 'role', ''],
      service.method.map((method, place) => [
        code(method.name),
        messageLink(method.inputType, file.package),
        `${method.serverStreaming ? 'stream of ' : ''}${messageLink(method.outputType, file.package)}`,
        roleOf(roles, `${file.package}.${service.name}`, method),
        commentAt(comments, PATH.service, index, PATH.method, place),
      ]),
    ),
  ]);
}

type RoleTable = ReadonlyMap<string, Readonly<Record<string, string>>>;

/** A service is made of its dependencies when it is called, so its table of roles can be read without any. */
function neededRoles(): RoleTable {
  const none = {} as ServerDependencies;
  const services = [
    machineServiceV1(none),
    planService(none),
    runService(none),
    machineService(none),
    operationService(none),
    fleetService(none, () => []),
    rolloutService(none),
    viewService(none),
    hardwareService(none),
    consoleService(none),
    bmcService(none),
    adminService(none),
  ];
  return new Map(services.map(({ desc, roles }) => [desc.typeName, roles]));
}

function roleOf(roles: RoleTable, service: string, { name }: MethodDescriptorProto): string {
  const role = roles.get(service)?.[`${name.charAt(0).toLowerCase()}${name.slice(1)}`];
  if (role === undefined) throw new Error(`${service}/${name} has no role`);
  return role;
}

function messageOf(
  message: DescriptorProto,
  path: readonly number[],
  comments: Comments,
  outer: string,
): string[] {
  if (message.options?.mapEntry) return [];
  const name = `${outer}${message.name}`;
  const rows = message.field.map((field, index) => [
    String(field.number),
    code(field.name),
    typeOf(field, message),
    commentAt(comments, ...path, PATH.field, index),
  ]);
  return [
    `### ${name}`,
    ...nonEmpty(commentAt(comments, ...path)),
    rows.length === 0 ? 'No fields.' : table(['number', 'field', 'type', ''], rows),
    ...message.nestedType.flatMap((nested, index) =>
      messageOf(nested, [...path, PATH.nestedMessage, index], comments, `${name}.`),
    ),
  ];
}

function enumsOf(
  described: readonly { readonly file: FileDescriptorProto; readonly comments: Comments }[],
): string[] {
  const sections = described.flatMap(({ file, comments }) => [
    ...file.enumType.flatMap((one, index) => enumOf(one, [PATH.enum, index], comments, '')),
    ...file.messageType.flatMap((message, index) =>
      nestedEnums(message, [PATH.message, index], comments, `${message.name}.`),
    ),
  ]);
  return sections.length === 0 ? [] : ['## Enums', ...sections];
}

function nestedEnums(
  message: DescriptorProto,
  path: readonly number[],
  comments: Comments,
  outer: string,
): string[] {
  return [
    ...message.enumType.flatMap((one, index) =>
      enumOf(one, [...path, PATH.nestedEnum, index], comments, outer),
    ),
    ...message.nestedType.flatMap((nested, index) =>
      nestedEnums(nested, [...path, PATH.nestedMessage, index], comments, `${outer}${nested.name}.`),
    ),
  ];
}

function enumOf(
  described: EnumDescriptorProto,
  path: readonly number[],
  comments: Comments,
  outer: string,
): string[] {
  return [
    `### ${outer}${described.name}`,
    ...nonEmpty(commentAt(comments, ...path)),
    table(
      ['number', 'value', ''],
      described.value.map((value, index) => [
        String(value.number),
        code(value.name),
        commentAt(comments, ...path, PATH.enumValue, index),
      ]),
    ),
  ];
}

function typeOf(field: FieldDescriptorProto, message: DescriptorProto): string {
  const entry = message.nestedType.find(
    ({ name, options }) => options?.mapEntry && field.typeName.endsWith(`.${message.name}.${name}`),
  );
  if (entry) {
    const [key, value] = entry.field;
    if (!key || !value) throw new Error(`${message.name}.${field.name} is a map without key and value`);
    return `map of ${scalarOf(key)} to ${scalarOf(value)}`;
  }
  const type = scalarOf(field);
  return field.label === FieldDescriptorProto_Label.REPEATED ? `repeated ${type}` : type;
}

function scalarOf({ type, typeName }: FieldDescriptorProto): string {
  if (typeName !== '') return code(typeName.slice(1).replace(/^baremetal(\.[a-z0-9]+)+\./, ''));
  return code(FieldDescriptorProto_Type[type].toLowerCase());
}

/** A heading of the same page, or the full name where the message belongs to another package. */
function messageLink(typeName: string, ownPackage: string): string {
  const own = `.${ownPackage}.`;
  if (!typeName.startsWith(own)) return code(typeName.slice(1));
  const name = typeName.slice(own.length);
  return `[${name}](#${name.toLowerCase().replaceAll('.', '')})`;
}

function nonEmpty(text: string): string[] {
  return text === '' ? [] : [text];
}
