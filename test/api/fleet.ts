/** Machines to test with, and what happens to them, in the words of the API. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Phase } from '../../src/domain/machine/phase.ts';
import type { PhaseGatedType } from '../../src/domain/operation/phase-gated-type.ts';
import {
  EffectiveState_Value,
  type Machine,
  type MachineSpecSchema,
  MachineStatus_Phase,
} from '../../src/gen/baremetal/v2/machine_pb.ts';
import type { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { type Operation, Operation_Phase } from '../../src/gen/baremetal/v2/operation_pb.ts';
import { type FakeState, settle } from '../../src/providers/fake/fake-state.ts';
import type { Client, TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';

/** The call that starts each type of operation. */
const START_CALLS = {
  REBOOT: 'rebootMachine',
  REIMAGE: 'reimageMachine',
  ENTER_MAINTENANCE: 'enterMaintenance',
  EXIT_MAINTENANCE: 'exitMaintenance',
} as const satisfies Record<PhaseGatedType, keyof Client<typeof MachineService>>;

/** What brings a new machine into each phase. */
const WAY_TO = {
  FACTORY_READY: [],
  MAINTENANCE: ['ENTER_MAINTENANCE'],
  READY: ['ENTER_MAINTENANCE', 'EXIT_MAINTENANCE'],
} as const satisfies Record<Phase, readonly PhaseGatedType[]>;

export interface MachineRequest {
  readonly phase?: Phase;
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec?: MessageInitShape<typeof MachineSpecSchema>;
}

export interface StartRequest {
  readonly requestId?: string;
  readonly imageRef?: string;
}

let count = 0;

/** Different in every call. */
export function fresh(prefix: string): string {
  count += 1;
  return `${prefix}-${count}`;
}

/** Registers a quick machine and brings it into its phase. */
export async function newMachine(server: TestServer, request: MachineRequest = {}): Promise<string> {
  const machineId = fresh('machine');
  const labels = { 'fake/step-ms': '1', ...request.labels };
  await server.machines.registerMachine({ machine: { machineId, labels, spec: request.spec ?? {} } });
  for (const type of WAY_TO[request.phase ?? 'FACTORY_READY']) await run(server, type, machineId);
  return machineId;
}

export function start(
  server: Pick<TestServer, 'machines'>,
  type: PhaseGatedType,
  machineId: string,
  request: StartRequest = {},
): Promise<Operation> {
  const { requestId = fresh('request'), imageRef = '' } = request;
  return server.machines[START_CALLS[type]]({ machineId, requestId, imageRef });
}

export async function run(
  server: TestServer,
  type: PhaseGatedType,
  machineId: string,
  request: StartRequest = {},
): Promise<Operation> {
  return ended(server, await start(server, type, machineId, request));
}

export function ended(server: TestServer, { operationId }: { operationId: string }): Promise<Operation> {
  return until(
    () => server.operations.getOperation({ operationId }),
    (operation) => operation.finishedAt !== undefined,
  );
}

/** An operation that has got to this step and waits there. */
export function waitingAt(
  server: TestServer,
  { operationId }: { operationId: string },
  step: string,
): Promise<Operation> {
  return until(
    () => server.operations.getOperation({ operationId }),
    (operation) => operation.currentStep === step && operation.waitingFor !== '',
  );
}

export function get(server: TestServer, machineId: string): Promise<Machine> {
  return server.machines.getMachine({ machineId });
}

/** The parts of a machine that most tests are about. */
export function statusOf(machine: Machine) {
  const { status } = machine;
  return {
    phase: MachineStatus_Phase[status?.phase ?? 0],
    effectiveState: EffectiveState_Value[status?.effectiveState ?? 0],
    activeOperationId: status?.activeOperationId,
    conditions: Object.fromEntries((status?.conditions ?? []).map(({ type, status }) => [type, status])),
  };
}

export function conditionOf(machine: Machine, type: string) {
  return machine.status?.conditions.find((condition) => condition.type === type);
}

export function phaseOf(operation: Operation): string {
  return Operation_Phase[operation.phase];
}

/** What the fake provider's machine is really like. */
export async function fakeStateOf(server: TestServer, machineId: string): Promise<FakeState> {
  const [row] = await server.sql<{ state: FakeState }>(
    'SELECT state FROM fake_machines WHERE machine_id = $1',
    [machineId],
  );
  if (!row) throw new Error(`nothing ever happened to ${machineId}`);
  return settle(row.state, Date.now());
}

/** From now on no replica claims a new operation: it stays PENDING until it is released. */
export async function holdNewOperations(server: TestServer): Promise<void> {
  server.claimsAtStart = 'never';
  await server.sql(`CREATE OR REPLACE FUNCTION hold_new_operation() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN NEW.due_at := now() + interval '1 hour'; RETURN NEW; END $$`);
  await server.sql(
    'CREATE OR REPLACE TRIGGER held BEFORE INSERT ON operations FOR EACH ROW EXECUTE FUNCTION hold_new_operation()',
  );
}

export async function releaseOperation(server: TestServer, operationId: string): Promise<void> {
  await server.sql('UPDATE operations SET due_at = now() WHERE operation_id = $1', [operationId]);
  await server.sql(`SELECT pg_notify('ingot', 'due')`);
}

/** How many rows there are of everything that a call might store. Refused calls are recorded and change nothing. */
export async function rowCounts(server: TestServer): Promise<Record<string, number>> {
  const [row] = await server.sql<Record<string, number>>(`
    SELECT (SELECT count(*) FROM machines) AS machines, (SELECT count(*) FROM operations) AS operations,
      (SELECT count(*) FROM events WHERE kind <> 'access') AS events, (SELECT count(*) FROM tokens) AS tokens,
      (SELECT count(*) FROM operation_logs) AS log_lines, (SELECT count(*) FROM fake_machines) AS fake_machines`);
  return row ?? {};
}
