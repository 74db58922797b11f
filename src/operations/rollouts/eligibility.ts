/**
 * Which machines a rollout could not change, and why: for each machine the refusal that a start of a single operation would
 * give, by the same rules. Later steps are asked on the machine as they will find it. A machine that an operation works on
 * is not refused: it waits for its turn.
 */
import type { Scope } from '../../domain/access/scope.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { Plan, StepDefaults } from '../../domain/operation/plan.ts';
import { afterStep } from '../../domain/rollout/chain.ts';
import type { RolloutStep } from '../../domain/rollout/spec/rollout-spec.ts';
import type { InstallFacts } from '../../providers/network-installs.ts';
import type { Provider } from '../../providers/provider.ts';
import type { Database } from '../../store/database/database.ts';
import { readInstallFacts } from '../../store/nodes/install-facts.ts';
import type { NewOperation } from '../../store/operations/writer/operation-starter.ts';
import { findPlan } from '../plans/plans.ts';
import { decideOn, readsInstalls, type StartRules } from '../start/start-on-machine.ts';
import { quarantineFault } from '../start/workflows.ts';
import { rulesOfStep } from './step-rules.ts';

export interface EligibilityDependencies {
  readonly database: Database;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly stepDefaults: StepDefaults;
}

export interface EligibilityCall {
  readonly steps: readonly RolloutStep[];
  readonly machines: readonly Machine[];
  readonly scope: Scope | null;
}

/** What a step would start on a machine. */
export type DecidedStep = Omit<NewOperation, 'operationId'>;

export interface Eligibility {
  /** Null: the rollout can start on it. */
  readonly refusal: Fault | null;
  /** What each step that could be decided would start, for the rules that ask for an approval. */
  readonly decided: readonly DecidedStep[];
}

interface PreparedStep {
  readonly step: RolloutStep;
  /** Null: it starts nothing. */
  readonly rules: StartRules | null;
  readonly plan: Plan | null;
}

interface Prepared {
  readonly steps: readonly PreparedStep[];
  readonly facts: InstallFacts;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly quarantined: ReadonlyMap<string, Fault>;
}

/** In the order of the machines. */
export async function eligibilityOf(
  dependencies: EligibilityDependencies,
  call: EligibilityCall,
): Promise<Eligibility[]> {
  const prepared = await prepare(dependencies, call);
  return call.machines.map((machine) => eligibilityOn(machine, prepared));
}

async function prepare(
  { database, providers, stepDefaults }: EligibilityDependencies,
  { steps, machines, scope }: EligibilityCall,
): Promise<Prepared> {
  const installed = machines.filter((machine) => readsInstalls(machine, providers));
  const factsFor = await readInstallFacts(
    database,
    installed.map(({ machineId }) => machineId),
  );
  const preparedSteps: PreparedStep[] = [];
  for (const step of steps) {
    const rules = rulesOfStep(step, { stepDefaults, scope });
    const planId = rules?.storedPlanId ?? null;
    const plan = planId === null ? null : await findPlan(database, planId, scope);
    preparedSteps.push({ step, rules, plan });
  }
  return {
    steps: preparedSteps,
    facts: factsFor(scope),
    providers,
    quarantined: steps[0]?.verb === 'onboard' ? await quarantineFaults(database, machines) : new Map(),
  };
}

async function quarantineFaults(
  database: Database,
  machines: readonly Machine[],
): Promise<ReadonlyMap<string, Fault>> {
  const faults = new Map<string, Fault>();
  for (const machine of machines) {
    const fault = await quarantineFault(database, machine);
    if (fault) faults.set(machine.machineId, fault);
  }
  return faults;
}

function eligibilityOn(machine: Machine, { steps, facts, providers, quarantined }: Prepared): Eligibility {
  const decided: DecidedStep[] = [];
  const refusal = quarantined.get(machine.machineId) ?? null;
  if (refusal) return { refusal, decided };
  let found: Machine | null = machine;
  for (const { step, rules, plan } of steps) {
    if (found === null) break;
    try {
      if (rules) decided.push(decideOn(rules, { machine: found, plan, facts, providers }));
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return { refusal: error, decided };
    }
    found = afterStep(found, step);
  }
  return { refusal: null, decided };
}
