/** The services of the v1 API (docs/api-v1.md), and what happens to machines, plans and runs in its words. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { RunType } from '../../src/domain/v1/run-type.ts';
import { type Machine, MachineStatus_Phase } from '../../src/gen/baremetal/v1/machine_pb.ts';
import { MachineService } from '../../src/gen/baremetal/v1/machine_service_pb.ts';
import type { Plan, PlanSchema } from '../../src/gen/baremetal/v1/plan_pb.ts';
import { PlanService } from '../../src/gen/baremetal/v1/plan_service_pb.ts';
import { type Run, Run_Phase, StepStatus_State } from '../../src/gen/baremetal/v1/run_pb.ts';
import { RunService } from '../../src/gen/baremetal/v1/run_service_pb.ts';
import { fresh } from '../api/fleet.ts';
import type { Client, TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';

export interface V1 {
  readonly machines: Client<typeof MachineService>;
  readonly plans: Client<typeof PlanService>;
  readonly runs: Client<typeof RunService>;
}

/** As the admin, unless another token is given. */
export function v1Of(server: TestServer, token: string = server.adminToken): V1 {
  return {
    machines: server.client(MachineService, token),
    plans: server.client(PlanService, token),
    runs: server.client(RunService, token),
  };
}

export const CLUSTER = { targetClusterRef: 'cluster-a' };

/** A string type, so that a test can also send an unknown type. */
type AnyType = RunType | (string & {});

export interface RunRequest {
  readonly requestId?: string;
  readonly planId?: string;
}

export function startRun(
  { runs }: Pick<V1, 'runs'>,
  type: AnyType,
  machineId: string,
  request: RunRequest = {},
): Promise<Run> {
  const { requestId = fresh('run-request'), planId = '' } = request;
  return runs.startRun({ type, machineId, requestId, planId });
}

export async function run(v1: V1, type: AnyType, machineId: string, request: RunRequest = {}): Promise<Run> {
  return runEnded(v1, await startRun(v1, type, machineId, request));
}

export function runEnded({ runs }: Pick<V1, 'runs'>, { runId }: { runId: string }): Promise<Run> {
  return until(
    () => runs.getRun({ runId }),
    (seen) => seen.finishedAt !== undefined,
  );
}

/** A run that works on this step. */
export function runAt({ runs }: Pick<V1, 'runs'>, { runId }: { runId: string }, step: string): Promise<Run> {
  return until(
    () => runs.getRun({ runId }),
    (seen) => seen.currentStep === step,
  );
}

type PlanRequest = Omit<MessageInitShape<typeof PlanSchema>, 'planId'>;

/** A plan of a new id. */
export async function newPlan(server: TestServer, steps: PlanRequest['steps'], name = ''): Promise<Plan> {
  return server.admin.createPlan({
    plan: { planId: fresh('plan'), displayName: name, ...(steps && { steps }) },
  });
}

export function runPhase({ phase }: Run): string {
  return Run_Phase[phase];
}

export function stepStates({ steps }: Run): string[] {
  return steps.map(({ state }) => StepStatus_State[state]);
}

/** A machine's state in the v1 API. */
export function viewOf({ status }: Machine) {
  return {
    phase: MachineStatus_Phase[status?.phase ?? 0],
    effectiveState: MachineStatus_Phase[status?.effectiveState ?? 0],
    activeRunId: status?.activeRunId,
    banners: status?.banners,
    conditions: Object.fromEntries((status?.conditions ?? []).map(({ type, status }) => [type, status])),
  };
}

export async function view({ machines }: V1, machineId: string) {
  return viewOf(await machines.getMachine({ machineId }));
}

/** How many rows there are of everything that a call might store; what is observed meanwhile is no call's doing. */
export async function storedRows(server: TestServer): Promise<unknown> {
  const [row] = await server.sql(`
    SELECT (SELECT count(*) FROM machines) AS machines, (SELECT count(*) FROM operations) AS operations,
      (SELECT count(*) FROM plans) AS plans, (SELECT count(*) FROM tokens) AS tokens,
      (SELECT count(*) FROM events WHERE kind NOT IN ('condition', 'access')) AS events`);
  return row;
}
