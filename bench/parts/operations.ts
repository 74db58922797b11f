/** Operations from the call to the end, and registrations: the writes. */
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { OperationService } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { sleep } from '../../src/time/sleep.ts';
import type { LoadClient } from '../client.ts';
import { perSecond } from '../measure.ts';
import { untilCalm } from '../rig/calm.ts';
import type { Figure } from '../rig/figures.ts';
import type { Round } from './part.ts';
import { singleInsertsPerSecond } from './single-inserts.ts';

const INSERTS = "PostgreSQL's own single-row inserts";
const CALLS_AT_ONCE = 256;
const LONGEST_WAIT_MS = 600_000;

/** Until no operation is under way. */
async function untilIdle(client: LoadClient): Promise<void> {
  const startedAt = performance.now();
  while (performance.now() - startedAt < LONGEST_WAIT_MS) {
    const { operations } = await client.unary(OperationService.method.listOperations, {
      filter: 'phase=PENDING OR phase=RUNNING',
      pageSize: 1,
    });
    if (operations.length === 0) return;
    await sleep(20);
  }
  throw new Error('operations are still under way');
}

export function register(
  { subject }: Pick<Round, 'subject'>,
  prefix: string,
  count: number,
  labels: Readonly<Record<string, string>> = { 'fake/step-ms': '0' },
): Promise<number> {
  return registerOn([subject.client], prefix, count, labels);
}

/** Calls go to the clients round robin. */
export function registerOn(
  clients: readonly LoadClient[],
  prefix: string,
  count: number,
  labels: Readonly<Record<string, string>> = { 'fake/step-ms': '0' },
): Promise<number> {
  return perSecond(count, 128, (index) =>
    nth(clients, index).unary(MachineService.method.registerMachine, {
      machine: { machineId: `${prefix}-${index}`, labels },
    }),
  );
}

function nth(clients: readonly LoadClient[], index: number): LoadClient {
  const client = clients[index % clients.length];
  if (client === undefined) throw new Error('there is no client');
  return client;
}

export async function measureRegister(round: Round): Promise<readonly Figure[]> {
  const { subject, args, number } = round;
  const inserts = await singleInsertsPerSecond(subject, args.operations);
  await untilCalm([subject]);
  const value = await register(round, `register-${number}`, args.operations);
  return [{ what: 'RegisterMachine', unit: 'perSecond', value, base: { of: INSERTS, value: inserts } }];
}

/** One-step operations on the machines of `register`, from the first call to the last end. */
export function enterMaintenance(
  { subject }: Pick<Round, 'subject'>,
  prefix: string,
  count: number,
): Promise<number> {
  return enterMaintenanceOn([subject.client], prefix, count);
}

export async function enterMaintenanceOn(
  clients: readonly LoadClient[],
  prefix: string,
  count: number,
): Promise<number> {
  const startedAt = performance.now();
  await perSecond(count, CALLS_AT_ONCE, (index) =>
    nth(clients, index).unary(MachineService.method.enterMaintenance, {
      machineId: `${prefix}-${index}`,
      requestId: 'bench',
    }),
  );
  await untilIdle(nth(clients, 0));
  return count / ((performance.now() - startedAt) / 1000);
}

export async function reboot(
  { subject }: Pick<Round, 'subject'>,
  prefix: string,
  count: number,
): Promise<number> {
  const startedAt = performance.now();
  await perSecond(count, CALLS_AT_ONCE, (index) =>
    subject.client.unary(MachineService.method.rebootMachine, {
      machineId: `${prefix}-${index}`,
      requestId: 'reboot',
    }),
  );
  await untilIdle(subject.client);
  return count / ((performance.now() - startedAt) / 1000);
}

/** Machines that were never in service are not rebooted. */
export async function prepareReboots(
  round: Pick<Round, 'subject'>,
  prefix: string,
  count: number,
): Promise<void> {
  await register(round, prefix, count);
  await enterMaintenance(round, prefix, count);
}

export async function measureOperations(round: Round): Promise<readonly Figure[]> {
  const { subject, args, number } = round;
  const prefix = `operate-${number}`;
  await register(round, prefix, args.operations);
  const inserts = await singleInsertsPerSecond(subject, args.operations);
  await untilCalm([subject]);
  await subject.server.vitals();
  const value = await enterMaintenance(round, prefix, args.operations);
  const { garbageShare } = await subject.server.vitals();
  return [
    {
      what: 'one-step operations, from the call to the end',
      unit: 'perSecond',
      value,
      base: { of: INSERTS, value: inserts },
    },
    { what: 'garbage collection under them, of the busy time', unit: 'share', value: garbageShare },
  ];
}

export async function measureReboots(round: Round): Promise<readonly Figure[]> {
  const { subject, args, number } = round;
  const prefix = `reboot-${number}`;
  await prepareReboots(round, prefix, args.reboots);
  const inserts = await singleInsertsPerSecond(subject, args.reboots);
  await untilCalm([subject]);
  const value = await reboot(round, prefix, args.reboots);
  return [
    {
      what: 'REBOOT on the simulator, with its reads, writes and logs',
      unit: 'perSecond',
      value,
      base: { of: INSERTS, value: inserts },
    },
  ];
}
