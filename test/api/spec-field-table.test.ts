/**
 * Takes every row of SPEC_FIELDS through all the places that are made from it: both protos, registration, reading, update
 * masks, filters, counts, sorting, active operations and the command line. For the console's editor and list the same is
 * in console/src/pages/machine/spec-edit.test.ts and test/console/machine-page.test.ts. A new row needs no line here, unless its check refuses plain text.
 */
import type { DescMessage } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { MachineSpec } from '../../src/domain/machine/machine.ts';
import { EMPTY_SPEC, messageOfSpec, specOfMessage } from '../../src/domain/machine/spec/machine-spec.ts';
import {
  SPEC_FIELD_NAMES,
  SPEC_FIELDS,
  SPEC_GROUP_NAMES,
  SPEC_GROUPS,
  type SpecField,
  type SpecFieldName,
} from '../../src/domain/machine/spec/spec-field.ts';
import {
  keysOf,
  SPEC_LINES,
  type SpecValue,
  specText,
  specValue,
  withSpecValue,
} from '../../src/domain/machine/spec/spec-value.ts';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { MachineSpecSchema as V1Spec } from '../../src/gen/baremetal/v1/machine_pb.ts';
import { MachineSpecSchema as V2Spec } from '../../src/gen/baremetal/v2/machine_pb.ts';
import { v1Of } from '../api-v1/runs.ts';
import { launch, type Run } from '../cli/harness.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { fresh, run, start, waitingAt } from './fleet.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ providers: { 'dc-1': { kind: 'fake' } } });
});
afterAll(() => server?.stop());

/** Values of the fields that do not take any text. Each number gives another value, but for the two providers. */
const SAMPLES: Partial<Record<SpecFieldName, (n: number) => SpecValue>> = {
  provider: (n) => (n % 2 === 0 ? 'fake' : 'dc-1'),
  ssh_endpoint: (n) => `ssh-${n}.example:22`,
  bmc_endpoint: (n) => `bmc-${n}.example`,
  ssh_credentials_ref: (n) => `ssh-source-${n}`,
  bmc_certificate_sha256: (n) => String(n).repeat(64).slice(0, 64),
  bmc_credentials_ref: (n) => `bmc-source-${n}`,
  mac_addresses: (n) => [0, 1].map((port) => `02:07:00:00:${n.toString(16).padStart(2, '0')}:0${port}`),
};

const sample = (name: SpecFieldName, n: number): SpecValue =>
  SAMPLES[name]?.(n) ?? `${name.replace('.', '-')}-${n}`;

function fullSpec(n: number): MachineSpec {
  return SPEC_FIELD_NAMES.reduce((spec, name) => withSpecValue(spec, name, sample(name, n)), EMPTY_SPEC);
}

let made = 0;
/** An even number, so that the next one has another provider. */
function nextNumber(): number {
  made += 2;
  return made;
}

const APIS = { v1: V1Spec, v2: V2Spec } as const satisfies Record<string, DescMessage>;
type Api = keyof typeof APIS;
const API_NAMES = Object.keys(APIS) as Api[];
const machinesOf = (api: Api) => (api === 'v1' ? v1Of(server).machines : server.machines);

function numbersOf({ fields }: DescMessage): Record<string, number> {
  return Object.fromEntries(fields.map(({ name, number }) => [name, number]));
}

describe.each(API_NAMES)('the proto of %s', (api) => {
  const { fields } = APIS[api];

  test('has the fields of the table, by their numbers, and no others', () => {
    const rows = SPEC_FIELD_NAMES.filter((name) => !name.includes('.'));
    expect(numbersOf(APIS[api])).toEqual({
      ...Object.fromEntries(rows.map((name) => [name, SPEC_FIELDS[name].proto[api]])),
      ...Object.fromEntries(SPEC_GROUP_NAMES.map((group) => [group, SPEC_GROUPS[group].proto[api]])),
    });
  });

  test.each(SPEC_GROUP_NAMES)('has the parts of %s, by their numbers, and no others', (group) => {
    const message = fields.find(({ name }) => name === group)?.message;
    if (!message) throw new Error(`${group} is no message`);
    const rows = SPEC_FIELD_NAMES.filter((name) => keysOf(name)[0] === group);
    expect(numbersOf(message)).toEqual(
      Object.fromEntries(rows.map((name) => [keysOf(name)[1], SPEC_FIELDS[name].proto[api]])),
    );
  });

  test('has a list where the table has one, and text everywhere else', () => {
    for (const name of SPEC_FIELD_NAMES) {
      const [key, part] = keysOf(name);
      const field = fields.find((candidate) => candidate.name === key);
      const own = part === undefined ? field : field?.message?.fields.find((inner) => inner.name === part);
      expect([name, own?.fieldKind]).toEqual([name, SPEC_FIELDS[name].type === 'list' ? 'list' : 'scalar']);
    }
  });
});

/** One field of each kind; the others differ from them in their row alone. */
const kindOf = (name: SpecFieldName) => JSON.stringify([SPEC_FIELDS[name].type, name.includes('.')]);
const [sampleFields, otherFields] = [
  SPEC_FIELD_NAMES.filter((name) => isFirstOfKind(name)),
  SPEC_FIELD_NAMES.filter((name) => !isFirstOfKind(name)),
];

function isFirstOfKind(name: SpecFieldName): boolean {
  return SPEC_FIELD_NAMES.find((other) => kindOf(other) === kindOf(name)) === name;
}

describe.each(sampleFields)('spec.%s', proveField);
describe.each(otherFields)('spec.%s', { tags: ['extended'] }, proveField);

function proveField(name: SpecFieldName): void {
  const field: SpecField = SPEC_FIELDS[name];
  const path = `spec.${name}`;

  async function register(labels: Record<string, string> = {}) {
    const n = nextNumber();
    const machineId = fresh('row');
    const spec = fullSpec(n);
    await server.machines.registerMachine({ machine: { machineId, labels, spec: messageOfSpec(spec) } });
    return { machineId, spec, other: fullSpec(n + 1) };
  }

  async function specOf(machineId: string): Promise<MachineSpec> {
    return specOfMessage((await server.machines.getMachine({ machineId })).spec);
  }

  test.each([
    ['v1', 'v2'],
    ['v2', 'v1'],
  ] as const)('that %s registers is read in %s', async (writer, reader) => {
    const machineId = fresh('row');
    const spec = withSpecValue({ ...EMPTY_SPEC, provider: 'fake' }, name, sample(name, nextNumber()));
    await machinesOf(writer).registerMachine({ machine: { machineId, spec: messageOfSpec(spec) } });
    const read = await machinesOf(reader).getMachine({ machineId });
    expect(specOfMessage(read.spec)).toEqual(spec);
  });

  test.each(API_NAMES)('is changed by its mask in %s, and nothing else is', async (api) => {
    const { machineId, spec, other } = await register();
    await machinesOf(api).updateMachine({
      machine: { machineId, spec: messageOfSpec(other) },
      updateMask: { paths: [path] },
    });
    expect(await specOf(machineId)).toEqual(withSpecValue(spec, name, specValue(other, name)));
  });

  test.each(API_NAMES)('is found by a filter of %s', async (api) => {
    const { machineId, spec, other } = await register();
    const find = async (filterName: string, of: MachineSpec) => {
      const [value] = [specValue(of, name)].flat();
      const filter = `machine_id=${machineId} AND ${filterName}${field.type === 'list' ? ':' : '='}"${value}"`;
      const { machines } = await machinesOf(api).listMachines({ filter });
      return machines.map((machine) => machine.machineId);
    };
    expect(await find(path, spec)).toEqual([machineId]);
    expect(await find(path, other)).toEqual([]);
    if (field.filter === 'short') expect(await find(name, spec)).toEqual([machineId]);
    else expect(await refusal(find(name, spec))).toMatchObject({ reason: 'INVALID_FILTER' });
  });

  test(`counts machines and sorts lists as the table says: ${field.inLists}`, async () => {
    const { machineId, spec } = await register();
    const fleet = server.client(FleetService, server.adminToken);
    const filter = `machine_id=${machineId}`;
    const counting = fleet.countMachines({ filter, facets: [name] });
    if (field.inLists === 'counted') {
      const { facets } = await counting;
      expect(facets).toMatchObject([{ field: name, values: [{ value: specText(spec, name), machines: 1 }] }]);
    } else expect(await refusal(counting)).toMatchObject({ code: 'INVALID_ARGUMENT' });
    const sorting = fleet.indexMachines({ filter, orderBy: name });
    if (field.inLists === 'no') expect(await refusal(sorting)).toMatchObject({ code: 'INVALID_ARGUMENT' });
    else {
      const sorted: string[] = [];
      for await (const { machineIds } of sorting) sorted.push(...machineIds);
      expect(sorted).toEqual([machineId]);
    }
  });

  test(`is ${field.whileOperationRuns} while an operation is active`, async () => {
    const { machineId, other } = await register({ 'fake/step-ms': '1', 'fake/hang-step': 'reboot' });
    await run(server, 'ENTER_MAINTENANCE', machineId);
    const operation = await start(server, 'REBOOT', machineId);
    await waitingAt(server, operation, 'reboot');
    const change = server.machines.updateMachine({
      machine: { machineId, spec: messageOfSpec(other) },
      updateMask: { paths: [path] },
    });
    if (field.whileOperationRuns === 'free') await change;
    else
      expect(await refusal(change)).toMatchObject({
        reason: 'OPERATION_ACTIVE',
        metadata: { fields: path },
      });
    await server.machines.cancelOperation({ operationId: operation.operationId });
  });

  function ingot(line: string): Promise<Run> {
    return launch(server.grpcAddress, line, { env: { INGOT_TOKEN: server.adminToken } }).ended;
  }

  const [flag = ''] = field.flag.split(' ');
  const flagWith = (spec: MachineSpec) =>
    [specValue(spec, name)]
      .flat()
      .map((value) => `${flag} ${value}`)
      .join(' ');

  test('is set by its flag, and shown by the command line', async () => {
    const machineId = fresh('row');
    const n = nextNumber();
    for (const [command, spec] of [
      ['register', fullSpec(n)],
      ['update', fullSpec(n + 1)],
    ] as const) {
      const { code, stderr } = await ingot(`${command} ${machineId} ${flagWith(spec)}`);
      expect({ code, stderr }).toMatchObject({ code: 0 });
      expect(specValue(await specOf(machineId), name)).toEqual(specValue(spec, name));
    }
    const line = SPEC_LINES.find(({ key }) => key === keysOf(name)[0]);
    if (!line) throw new Error(`${name} has no line`);
    const text = line.text(await specOf(machineId));
    expect(text).toContain(specText(fullSpec(n + 1), name));
    expect((await ingot(`show ${machineId}`)).stdout).toMatch(
      new RegExp(`^${line.title}: +${text.replace(/[.[\]/]/g, '\\$&')}$`, 'm'),
    );
    const { stdout: wide } = await ingot(`list --filter machine_id=${machineId} -o wide`);
    const [header = '', row = ''] = wide.split('\n');
    if (line.shown.wideColumn === undefined) expect(row).not.toContain(text);
    else {
      const place = header.indexOf(line.shown.wideColumn);
      expect(row.slice(place, place + text.length)).toBe(text);
    }
  });

  test(`${field.values === 'shared' ? 'can' : 'can not'} be set on all machines of an import`, async () => {
    const { stdout } = await ingot('import --help');
    expect(stdout.includes(`${flag} `)).toBe(field.values === 'shared');
  });
}
