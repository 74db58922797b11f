/** Which machines a rollout has, which of them can take its first step now, and in which wave each is. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Caller, mayCall } from '../../domain/access/caller.ts';
import { type Role, roleCovers } from '../../domain/actor.ts';
import { groupField, groupOf } from '../../domain/budget/limit.ts';
import { Fault } from '../../domain/error/fault.ts';
import { checkFilter } from '../../domain/filter/check.ts';
import { MACHINE_FILTER } from '../../domain/filter/machine-filter.ts';
import { parseFilter } from '../../domain/filter/parse.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { ApprovalRule } from '../../domain/operation/approval.ts';
import { groupsOfMachine } from '../../domain/rollout/machine-groups.ts';
import { type PlannedMachine, type PlannedWave, planWaves } from '../../domain/rollout/plan-waves.ts';
import type { Gate, RolloutSpec } from '../../domain/rollout/spec/rollout-spec.ts';
import { STEP_METHODS, type StepMethod } from '../../domain/rollout/spec/step-method.ts';
import { listMachines } from '../../store/machines/list.ts';
import { findMachines } from '../../store/machines/machines.ts';
import { type DecidedStep, eligibilityOf } from './eligibility.ts';
import { inPauses, inSlices } from './in-slices.ts';
import type { RolloutDependencies } from './rollout-dependencies.ts';

export interface ResolvedMachine {
  readonly machineId: string;
  /** From 1; 0: not eligible. */
  readonly wave: number;
  /** As the start of its first step would be refused; empty: eligible. */
  readonly errorCode: string;
  readonly message: string;
  /** As MachineInView has them (src/domain/rollout/decide/pass-view.ts). */
  readonly groups: readonly string[];
}

export interface ResolvedWave {
  readonly number: number;
  readonly name: string;
  readonly machines: number;
  readonly gate: Gate;
  /** The rule of the configuration that asks for the gate; empty: the spec does. */
  readonly approvalRule: string;
  /** The least role that opens the gate. */
  readonly approverRole: Role;
}

export interface ResolvedRollout {
  /** In the order of their turn; those that are not eligible come last. */
  readonly machines: readonly ResolvedMachine[];
  readonly waves: readonly ResolvedWave[];
}

/** Throws where the caller may not carry out one of the steps on a single machine. */
export function checkMayRollOut(spec: RolloutSpec, caller: Caller): void {
  for (const { verb } of spec.steps) {
    const needed: StepMethod | null = STEP_METHODS[verb];
    if (needed === null || mayCall(caller, needed.method, needed.role)) continue;
    throw notAllowed(
      `a rollout of ${verb} needs the right to call ${needed.method}, which ${caller.actor.id} does not have`,
      needed.role,
      caller,
    );
  }
  if (spec.overrideBudget && caller.role !== 'admin')
    throw notAllowed(
      `override_budget needs the role admin; ${caller.actor.id} has ${caller.role}`,
      'admin',
      caller,
    );
}

function notAllowed(message: string, needed: Role, { role }: Caller): Fault {
  return new Fault('PERMISSION_DENIED', { message, metadata: { needed, role } });
}

/** Reads only. Whether the caller may create it is checkMayRollOut's to say. */
export async function resolveRollout(
  dependencies: RolloutDependencies,
  spec: RolloutSpec,
  caller: Caller,
): Promise<ResolvedRollout> {
  const eligible: Candidate[] = [];
  const refused: ResolvedMachine[] = [];
  const missing: ResolvedMachine[] = [];
  for await (const { machines, unknown } of machinesOf(dependencies, spec, caller)) {
    missing.push(...unknown.map(missingMachine));
    const found = await eligibilityOf(dependencies, { steps: spec.steps, machines, scope: caller.scope });
    for (const [index, machine] of machines.entries()) {
      const { refusal, decided } = found[index] ?? { refusal: null, decided: [] };
      if (refusal) refused.push(refusedMachine(machine.machineId, refusal));
      else eligible.push(candidateOf(spec, machine, ruleOf(dependencies, machine, decided)));
    }
  }
  await nextTurn();
  const waves = await inPauses(planWaves(spec.waves, eligible));
  const resolved: ResolvedMachine[] = [];
  for (const [index, { machines }] of waves.entries())
    for await (const piece of inSlices(machines))
      for (const machine of piece) resolved.push(inWave(machine, index + 1));
  await nextTurn();
  return {
    machines: resolved.concat(refused, missing),
    waves: waves.map((wave, index) => resolvedWave(spec, wave, index)),
  };
}

interface Candidate extends PlannedMachine {
  readonly groups: readonly string[];
  readonly rule: ApprovalRule | null;
}

const PAGE = 250;

interface Piece {
  readonly machines: readonly Machine[];
  /** Ids of the spec that name no machine. */
  readonly unknown: readonly string[];
}

/** In pieces, so that a large fleet is never in memory at once, and that none of them keeps the event loop for long. */
async function* machinesOf(
  { database }: RolloutDependencies,
  { filter, machineIds }: RolloutSpec,
  { scope }: Caller,
): AsyncGenerator<Piece> {
  if (machineIds.length > 0) {
    for (let start = 0; start < machineIds.length; start += PAGE) {
      const ids = machineIds.slice(start, start + PAGE);
      const machines = await findMachines(database, ids, scope);
      const found = new Set(machines.map(({ machineId }) => machineId));
      yield { machines, unknown: ids.filter((id) => !found.has(id)) };
    }
    return;
  }
  const checked = filter.trim() === '' ? null : checkFilter(parseFilter(filter), MACHINE_FILTER);
  for (let after: string | null = ''; after !== null; ) {
    const page: Awaited<ReturnType<typeof listMachines>> = await listMachines(database, {
      filter: checked,
      scope,
      after,
      size: PAGE,
    });
    yield { machines: page.rows, unknown: [] };
    after = page.next;
  }
}

function candidateOf(spec: RolloutSpec, machine: Machine, rule: ApprovalRule | null): Candidate {
  const groups = groupsOfMachine(spec.limits, machine);
  const { waves } = spec;
  return {
    machineId: machine.machineId,
    waveGroup: 'by' in waves ? groupOf(groupField(waves.by, 'spec.by'), machine) : '',
    limitGroup: groups[0] ?? '',
    groups,
    rule,
  };
}

/** The rule of the configuration that asks for an approval of one of the steps; the one with the highest role. */
function ruleOf(
  { approvalRules }: RolloutDependencies,
  machine: Machine,
  decided: readonly DecidedStep[],
): ApprovalRule | null {
  const rules = decided.flatMap(
    (step) => approvalRules.find(({ applies }) => applies({ machine, ...step })) ?? [],
  );
  return rules.reduce(stricter, null);
}

function stricter(best: ApprovalRule | null, rule: ApprovalRule): ApprovalRule {
  return best !== null && roleCovers(best.approverRole, rule.approverRole) ? best : rule;
}

function resolvedWave(
  spec: RolloutSpec,
  { name, machines }: PlannedWave<Candidate>,
  index: number,
): ResolvedWave {
  const rule = machines.reduce<ApprovalRule | null>(
    (best, machine) => (machine.rule === null ? best : stricter(best, machine.rule)),
    null,
  );
  return {
    number: index + 1,
    name,
    machines: machines.length,
    gate: rule === null ? (spec.gates[index] ?? spec.gate) : 'second-person',
    approvalRule: rule?.name ?? '',
    approverRole: rule?.approverRole ?? 'operator',
  };
}

function inWave({ machineId, groups }: Candidate, wave: number): ResolvedMachine {
  return { machineId, wave, errorCode: '', message: '', groups };
}

function refusedMachine(machineId: string, { reason, message }: Fault): ResolvedMachine {
  return { machineId, wave: 0, errorCode: reason, message, groups: [] };
}

function missingMachine(machineId: string): ResolvedMachine {
  const message = `there is no machine ${machineId}`;
  return { machineId, wave: 0, errorCode: 'MACHINE_NOT_FOUND', message, groups: [] };
}
