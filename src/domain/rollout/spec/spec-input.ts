/**
 * Checks the spec of a rollout once for all its machines. A spec with problems is refused as a whole, and the refusal names
 * every field that is wrong, so that one attempt shows all of them.
 */
import { METRIC_NAMES } from '../../agent/agent.ts';
import { membersOf } from '../../budget/limit.ts';
import { Fault, invalidField, missingField } from '../../error/fault.ts';
import { checkMachineId, checkText } from '../../machine/machine-input.ts';
import { readAmount } from './amount-text.ts';
import { readDuration } from './duration-text.ts';
import { checkGroupField } from './group-field.ts';
import type {
  Amount,
  Gate,
  GroupLimit,
  MetricRule,
  RolloutSpec,
  RolloutStep,
  StopRules,
  WavePlan,
} from './rollout-spec.ts';
import { checkBlackouts, checkWindows } from './schedule-input.ts';
import { checkMachineFilter, checkSteps } from './step-input.ts';
import type { WrittenLimit, WrittenSpec, WrittenStop } from './written-spec.ts';

const GATES = ['automatic', 'approval', 'second-person'] as const satisfies readonly Gate[];

const MAX_NAME = 100;
const MAX_REASON = 1000;
const MAX_MACHINES = 100_000;
const MAX_WAVES = 1000;
const MAX_ORDER = 1000;
const MAX_LIMITS = 20;
const MAX_METRICS = 20;

const NO_STOP: StopRules = {
  afterFailures: null,
  failurePercent: null,
  sameError: null,
  poolDegraded: false,
  unhealthy: '',
  metrics: [],
  cancelRunning: false,
};

/**
 * Throws one Fault with every field that is wrong. Whether the deadline has passed is checkDeadline's to say. There may be a hundred
 * thousand ids, and to check all of them keeps other calls waiting: `wrongId` is the place of the first that is no id, which
 * the caller finds in slices (-1: all are ids), as it makes them distinct.
 */
export function checkRolloutSpec(written: WrittenSpec | undefined, wrongId: number): RolloutSpec {
  if (!written) throw missingField('spec');
  const problems = new Problems();
  const read = <Value>(check: () => Value, otherwise: Value): Value => problems.read(check, otherwise);
  const steps = read(() => checkSteps(written.steps, 'spec.steps'), []);
  const waves = read<WavePlan>(() => checkWaves(written), { sizes: ['rest'] });
  read(() => checkMachines(written), undefined);
  const spec: RolloutSpec = {
    name: read(() => checkText(written.name.trim(), 'spec.name', MAX_NAME), '') || nameOf(steps),
    filter: written.filter === '' ? '' : read(() => checkMachineFilter(written.filter, 'spec.filter'), ''),
    machineIds: read(() => checkMachineIds(written.machineIds, 'spec.machine_ids', wrongId), []),
    follow: written.follow,
    steps,
    waves,
    soakMs: written.soak === '' ? 0 : read(() => readDuration(written.soak, 'spec.soak'), 0),
    gate: read(() => checkGate(written.gate, 'spec.gate'), null) ?? 'automatic',
    gates: read(() => checkGates(written.gates, waves), []),
    maxParallel: read(() => checkMaxParallel(written.maxParallel, 'spec.max_parallel'), null),
    limits: read(() => checkLimits(written.limits, 'spec.limits'), []),
    stop: read(() => checkStop(written.stop, 'spec.stop'), NO_STOP),
    windows: read(() => checkWindows(written.windows, 'spec.windows'), []),
    blackouts: read(() => checkBlackouts(written.blackouts, 'spec.blackouts'), []),
    startAt: read(() => checkTime(written.startAt, 'spec.start_at'), null),
    deadline: read(() => checkTime(written.deadline, 'spec.deadline'), null),
    reason: read(() => checkText(written.reason, 'spec.reason', MAX_REASON), ''),
    overrideBudget: written.overrideBudget,
  };
  read(() => checkTimes(spec), undefined);
  if (spec.overrideBudget && spec.reason.trim() === '')
    problems.add(invalidField('spec.reason', 'is required with override_budget'));
  problems.throwAny();
  return spec;
}

/** Collects refusals of single fields. */
class Problems {
  readonly #faults: Fault[] = [];

  read<Value>(check: () => Value, otherwise: Value): Value {
    try {
      return check();
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      this.add(error);
      return otherwise;
    }
  }

  add(fault: Fault): void {
    this.#faults.push(fault);
  }

  throwAny(): void {
    const [first, ...others] = this.#faults;
    if (!first) return;
    if (others.length === 0) throw first;
    throw new Fault('INVALID_FIELD', {
      message: this.#faults.map(({ message }) => message).join('; '),
      metadata: first.metadata,
      violations: this.#faults.flatMap(({ violations }) => violations),
    });
  }
}

/** A rollout without a name is called by what it does. */
function nameOf(steps: readonly RolloutStep[]): string {
  return steps
    .map(({ verb }) => verb)
    .join(', ')
    .slice(0, MAX_NAME);
}

function checkMachines({ filter, machineIds, follow }: WrittenSpec): void {
  if (filter.trim() === '' && machineIds.length === 0)
    throw invalidField('spec.filter', 'is required, or machine_ids; machine_id=* is every machine');
  if (filter.trim() !== '' && machineIds.length > 0)
    throw invalidField('spec.machine_ids', 'can not be used together with filter');
  if (follow && machineIds.length > 0) throw invalidField('spec.follow', 'needs a filter');
}

export function checkMachineIds(ids: readonly string[], field: string, wrongId: number): readonly string[] {
  if (ids.length > MAX_MACHINES)
    throw invalidField(field, `must be at most ${MAX_MACHINES}; there are ${ids.length}`);
  if (wrongId >= 0) checkMachineId(ids[wrongId] ?? '', `${field}[${wrongId}]`);
  return ids;
}

function checkWaves({ waves, by, order }: WrittenSpec): WavePlan {
  if (by.trim() !== '') {
    if (waves.length > 0) throw invalidField('spec.by', 'can not be used together with waves');
    if (order.length > MAX_ORDER) throw invalidField('spec.order', `must be at most ${MAX_ORDER}`);
    const values = order.map((value, index) => checkText(value, `spec.order[${index}]`, 4096));
    return { by: checkGroupField(by, 'spec.by'), order: [...new Set(values)] };
  }
  if (order.length > 0) throw invalidField('spec.order', 'needs by');
  if (waves.length > MAX_WAVES) throw invalidField('spec.waves', `must be at most ${MAX_WAVES}`);
  const sizes = waves.map((text, index) => readWave(text, `spec.waves[${index}]`));
  const early = sizes.indexOf('rest');
  if (early >= 0 && early < sizes.length - 1)
    throw invalidField(`spec.waves[${early}]`, 'must be the last wave: nothing is left after rest');
  return { sizes: sizes.at(-1) === 'rest' ? sizes : [...sizes, 'rest'] };
}

function readWave(text: string, field: string): Amount | 'rest' {
  if (text.trim().toLowerCase() === 'rest') return 'rest';
  if (/^\s*\d+(\.\d+)?\s*%?\s*$/.test(text)) return readAmount(text, field, 1);
  throw invalidField(field, 'must be a number, a percentage or rest, such as 1, 25% or rest');
}

/** Null: nothing was written. */
function checkGate(text: string, field: string): Gate | null {
  const written = text.trim().toLowerCase().replaceAll('_', '-');
  if (written === '') return null;
  const gate = GATES.find((name) => name === written);
  if (gate) return gate;
  throw invalidField(field, `must be one of ${GATES.join(', ')}`);
}

function checkGates(written: readonly string[], waves: WavePlan): (Gate | null)[] {
  const most = 'sizes' in waves ? waves.sizes.length : MAX_WAVES;
  if (written.length > most)
    throw invalidField(
      'spec.gates',
      `there are ${written.length} for ${most} ${most === 1 ? 'wave' : 'waves'}`,
    );
  return written.map((gate, index) => checkGate(gate, `spec.gates[${index}]`));
}

/** Null: no limit. */
export function checkMaxParallel(text: string, field: string): Amount | null {
  return text.trim() === '' ? null : readAmount(text, field, 1);
}

export function checkLimits(written: readonly WrittenLimit[], field: string): GroupLimit[] {
  if (written.length > MAX_LIMITS) throw invalidField(field, `must be at most ${MAX_LIMITS}`);
  return written.map(({ groupBy, filter, maxUnavailable }, index) => {
    const at = `${field}[${index}]`;
    if (maxUnavailable.trim() === '') throw missingField(`${at}.max_unavailable`);
    return {
      groupBy: groupBy.trim() === '' ? '' : checkGroupField(groupBy, `${at}.group_by`),
      filter: checkMembers(filter, `${at}.filter`),
      maxUnavailable: readAmount(maxUnavailable, `${at}.max_unavailable`, 0),
    };
  });
}

/** Which machines count follows from what operators write, and never from a state that changes. */
function checkMembers(filter: string, field: string): string {
  membersOf(filter, field);
  return filter.trim();
}

export function checkStop(written: WrittenStop | undefined, field: string): StopRules {
  if (!written) return NO_STOP;
  if (written.metrics.length > MAX_METRICS)
    throw invalidField(`${field}.metrics`, `must be at most ${MAX_METRICS}`);
  const { unhealthy, poolDegraded, cancelRunning } = written;
  const percent = checkCount(written.failurePercent, `${field}.failure_percent`);
  if (percent !== null && percent > 100)
    throw invalidField(`${field}.failure_percent`, 'must be at most 100');
  return {
    afterFailures: checkCount(written.afterFailures, `${field}.after_failures`),
    failurePercent: percent,
    sameError: checkCount(written.sameError, `${field}.same_error`),
    poolDegraded,
    unhealthy: unhealthy.trim() === '' ? '' : checkMachineFilter(unhealthy, `${field}.unhealthy`),
    metrics: written.metrics.map((metric, index) => checkMetric(metric, `${field}.metrics[${index}]`)),
    cancelRunning,
  };
}

/** 0 is a rule that is not set. */
function checkCount(value: number, field: string): number | null {
  if (value < 0) throw invalidField(field, 'must not be negative');
  return value === 0 ? null : value;
}

function checkMetric({ name, above, below }: WrittenStop['metrics'][number], field: string): MetricRule {
  if (name === '') throw missingField(`${field}.name`);
  if (!METRIC_NAMES.some((known) => known === name))
    throw invalidField(`${field}.name`, `must be one of ${METRIC_NAMES.join(', ')}`);
  if (above === undefined && below === undefined) throw missingField(`${field}.above`);
  for (const [bound, value] of [
    ['above', above],
    ['below', below],
  ] as const)
    if (value !== undefined && !Number.isFinite(value))
      throw invalidField(`${field}.${bound}`, 'must be a number');
  return { name, above: above ?? null, below: below ?? null };
}

export function checkTime(at: Date | null, field: string): Date | null {
  if (at !== null && Number.isNaN(at.getTime())) throw invalidField(field, 'must be a time');
  return at;
}

/** Only of a new request: the answer to one that is repeated does not depend on the time. */
export function checkDeadline(deadline: Date | null | undefined, field: string, now: Date): void {
  if (deadline && deadline <= now) throw invalidField(field, 'must be in the future');
}

function checkTimes({ startAt, deadline }: RolloutSpec): void {
  if (startAt !== null && deadline !== null && deadline <= startAt)
    throw invalidField('spec.deadline', 'must be after start_at');
}
