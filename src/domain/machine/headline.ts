/**
 * The headline of a machine: its effective state, and what matters most beside it, as one text with one tone
 * ("IDLE · agent lost 10 min"). Console, command line and explanations show it. The effective state alone does not say whether a
 * machine is well: one whose agent is lost is IDLE. The API's enum stays as it is; the headline is computed where it is shown,
 * because its times go on. The database has the same rules for filters, counts and orders (store/machines/headline-column.ts),
 * and a test compares the two.
 */
import { type Conditions, isTrue } from '../condition/condition.ts';
import { DRIFT_REASON } from '../condition/drift.ts';
import type { Tone } from '../tone.ts';
import type { EffectiveState } from './effective-state.ts';
import type { Phase } from './phase.ts';

/** From the worst to the best: broken stands out, and what is well recedes. */
export const HEADLINE_TONES = {
  failed: { colour: 'red', needsAttention: true, meaning: 'something failed, or it is blocked' },
  warning: { colour: 'orange', needsAttention: true, meaning: 'it is not as it should be' },
  working: { colour: 'blue', needsAttention: false, meaning: 'work is under way' },
  planned: {
    colour: 'yellow',
    needsAttention: false,
    meaning: 'out of service on purpose, or not set up yet',
  },
  quiet: { colour: 'gray', needsAttention: false, meaning: 'nothing to say' },
} as const satisfies Record<string, { colour: Tone; needsAttention: boolean; meaning: string }>;

export type HeadlineTone = keyof typeof HEADLINE_TONES;
export const HEADLINE_TONE_NAMES = Object.keys(HEADLINE_TONES) as HeadlineTone[];

/** Texts of the API, so that a client of an older version shows what a newer server says. */
export interface HeadlineInput {
  readonly effectiveState: EffectiveState;
  readonly phase: Phase;
  /** Empty: the machine does not have the layer. */
  readonly service: string;
  readonly install: string;
  readonly presence: string;
  readonly conditions: Conditions;
  /** Empty: none. */
  readonly activeOperationType: string;
  /** Its step is slower than its history. */
  readonly isStalled: boolean;
  /** When the agent last reported, and when the maintenance is over, in milliseconds; null: unknown, or never. */
  readonly lastKeepaliveMs: number | null;
  readonly maintenanceUntilMs: number | null;
  /** What its upstream reports; null without one. `differs`: it does not fit, and no operator accepted it. */
  readonly upstream: { readonly source: string; readonly state: string; readonly differs: boolean } | null;
}

export interface Headline {
  /** "IDLE · agent lost 10 min" */
  readonly text: string;
  readonly tone: HeadlineTone;
  readonly colour: Tone;
  /** The name of the rule that decided, such as agent_lost. */
  readonly reason: HeadlineReason;
  /** Everything that is to be said beside the state, the most important first; the text has the first. */
  readonly notes: readonly string[];
  readonly needsAttention: boolean;
}

/** What a rule tests, as data, so that the SQL expression is made from the same table. */
export type HeadlineTest =
  | { readonly condition: keyof Conditions; readonly is: 'true' | 'false'; readonly reasonEnds?: string }
  | { readonly service: readonly string[] }
  | { readonly install: readonly string[] }
  | { readonly presence: readonly string[] }
  | { readonly phase: Phase }
  | { readonly holds: 'operation' | 'stalled' | 'drift' | 'maintenance over' | 'always' };

export interface HeadlineRule {
  readonly test: HeadlineTest;
  /** Where one of these holds, the rule does not: an operation or maintenance explains it. */
  readonly unless?: readonly HeadlineTest[];
  readonly tone: HeadlineTone;
  readonly note: (machine: HeadlineInput, now: number) => string;
}

const BUSY = { holds: 'operation' } as const;
const OUT_ON_PURPOSE = [
  BUSY,
  { phase: 'MAINTENANCE' },
  { service: ['retired', 'removing', 'deleted'] },
] as const satisfies readonly HeadlineTest[];
const IN_SERVICE_LAYER = {
  service: ['enrolling', 'active', 'offline', 'quarantined', 'draining', 'retired', 'removing'],
} as const;

const say = (text: string) => () => text;
const withReason = (type: keyof Conditions, otherwise: string) => (machine: HeadlineInput) =>
  reasonWords(machine.conditions[type]?.reason ?? '') || otherwise;

/** The first that holds decides. The worst come first, but for what is over for good. */
export const HEADLINE_RULES = {
  removed: { test: { service: ['deleted'] }, tone: 'quiet', note: say('removed') },
  retired_for_good: {
    test: { condition: 'Retired', is: 'true' },
    tone: 'quiet',
    note: say('retired for good'),
  },
  flagged_rma: { test: { condition: 'RMA', is: 'true' }, tone: 'failed', note: say('flagged for return') },
  operation_failed: {
    test: { condition: 'NeedsIntervention', is: 'true', reasonEnds: 'Failed' },
    tone: 'failed',
    note: withReason('NeedsIntervention', 'failed'),
  },
  install_failed: {
    test: { install: ['install_failed'] },
    unless: [BUSY],
    tone: 'failed',
    note: say('install failed'),
  },
  drift: {
    test: { holds: 'drift' },
    unless: [BUSY],
    tone: 'warning',
    note: ({ upstream }) =>
      upstream?.state === 'absent'
        ? `gone from ${upstream.source}`
        : `${upstream?.source ?? 'upstream'} says ${upstream?.state ?? 'otherwise'}`,
  },
  needs_intervention: {
    test: { condition: 'NeedsIntervention', is: 'true' },
    tone: 'warning',
    note: withReason('NeedsIntervention', 'needs an operator'),
  },
  quarantined: {
    test: { service: ['quarantined'] },
    unless: [BUSY],
    tone: 'warning',
    note: say('quarantined'),
  },
  never_registered: {
    test: { presence: ['expired'] },
    unless: [...OUT_ON_PURPOSE, IN_SERVICE_LAYER],
    tone: 'warning',
    note: ({ lastKeepaliveMs }, now) =>
      lastKeepaliveMs === null ? 'agent did not register' : lostText(lastKeepaliveMs, now),
  },
  agent_lost: {
    test: { presence: ['expired'] },
    unless: OUT_ON_PURPOSE,
    tone: 'warning',
    note: ({ lastKeepaliveMs }, now) => lostText(lastKeepaliveMs, now),
  },
  offline: { test: { service: ['offline'] }, unless: OUT_ON_PURPOSE, tone: 'warning', note: say('offline') },
  maintenance_overdue: {
    test: { holds: 'maintenance over' },
    unless: [BUSY],
    tone: 'warning',
    note: ({ maintenanceUntilMs }, now) =>
      maintenanceUntilMs === null ? 'overdue' : `overdue ${elapsedText(now - maintenanceUntilMs)}`,
  },
  stalled: {
    test: { holds: 'stalled' },
    tone: 'warning',
    note: ({ activeOperationType }) => `${typeWords(activeOperationType)} stalled`,
  },
  degraded: {
    test: { condition: 'Degraded', is: 'true' },
    unless: OUT_ON_PURPOSE,
    tone: 'warning',
    note: withReason('Degraded', 'degraded'),
  },
  unreachable: {
    test: { condition: 'Reachable', is: 'false' },
    unless: OUT_ON_PURPOSE,
    tone: 'warning',
    note: say('unreachable'),
  },
  operation: {
    test: BUSY,
    tone: 'working',
    note: ({ activeOperationType }) => typeWords(activeOperationType),
  },
  installing: {
    test: { install: ['installing', 'deprovisioning', 'migrating'] },
    tone: 'working',
    note: ({ install }) => install,
  },
  leaving_service: {
    test: { service: ['draining', 'removing'] },
    tone: 'working',
    note: ({ service }) => service,
  },
  taken_out: { test: { service: ['retired'] }, tone: 'planned', note: say('out of scheduling') },
  waits_to_install: {
    test: { install: ['pending', 'reprovision'] },
    tone: 'planned',
    note: say('waits to install'),
  },
  waits_for_approval: {
    test: { install: ['discovered'] },
    unless: [IN_SERVICE_LAYER],
    tone: 'planned',
    note: say('waits for approval'),
  },
  waits_for_verification: {
    test: { install: ['installed'] },
    tone: 'planned',
    note: say('waits to be verified'),
  },
  maintenance: { test: { phase: 'MAINTENANCE' }, tone: 'planned', note: say('') },
  waits_for_agent: {
    test: { service: ['bootstrap_issued', 'enrolling'] },
    tone: 'planned',
    note: say('waits for its agent'),
  },
  never_provisioned: {
    test: { phase: 'FACTORY_READY' },
    unless: [IN_SERVICE_LAYER],
    tone: 'planned',
    note: say(''),
  },
  well: { test: { holds: 'always' }, tone: 'quiet', note: say('') },
} as const satisfies Record<string, HeadlineRule>;

export type HeadlineReason = keyof typeof HEADLINE_RULES;
export const HEADLINE_REASONS = Object.keys(HEADLINE_RULES) as HeadlineReason[];

export function headline(machine: HeadlineInput, now: number): Headline {
  const holding = HEADLINE_REASONS.filter((name) => applies(HEADLINE_RULES[name], machine, now));
  const reason = holding[0] ?? 'well';
  const { tone } = HEADLINE_RULES[reason];
  const rule: HeadlineRule = HEADLINE_RULES[reason];
  const note = rule.note(machine, now);
  return {
    text: note === '' ? machine.effectiveState : `${machine.effectiveState} · ${note}`,
    ...{ tone, reason },
    colour: HEADLINE_TONES[tone].colour,
    notes: notesOf(holding, machine, now),
    needsAttention: HEADLINE_TONES[tone].needsAttention,
  };
}

/** A text that two rules have, such as that of a lost agent, is there once. */
function notesOf(holding: readonly HeadlineReason[], machine: HeadlineInput, now: number): string[] {
  const notes = holding.map((name) => HEADLINE_RULES[name].note(machine, now));
  return [...new Set(notes)].filter((note) => note !== '');
}

function applies({ test, unless = [] }: HeadlineRule, machine: HeadlineInput, now: number): boolean {
  return holds(test, machine, now) && !unless.some((other) => holds(other, machine, now));
}

function holds(test: HeadlineTest, machine: HeadlineInput, now: number): boolean {
  if ('condition' in test) return conditionHolds(test, machine.conditions);
  if ('service' in test) return test.service.includes(machine.service);
  if ('install' in test) return test.install.includes(machine.install);
  if ('presence' in test) return test.presence.includes(machine.presence);
  if ('phase' in test) return machine.phase === test.phase;
  switch (test.holds) {
    case 'operation':
      return machine.activeOperationType !== '';
    case 'stalled':
      return machine.isStalled;
    case 'drift':
      return machine.upstream?.differs === true || isDrifted(machine.conditions);
    case 'maintenance over':
      return (
        machine.phase === 'MAINTENANCE' &&
        machine.maintenanceUntilMs !== null &&
        machine.maintenanceUntilMs <= now
      );
    case 'always':
      return true;
  }
}

function conditionHolds(
  { condition, is, reasonEnds = '' }: Extract<HeadlineTest, { condition: unknown }>,
  conditions: Conditions,
): boolean {
  const found = conditions[condition];
  return found !== undefined && String(found.status) === is && found.reason.endsWith(reasonEnds);
}

function isDrifted(conditions: Conditions): boolean {
  return isTrue(conditions, 'NeedsIntervention') && conditions.NeedsIntervention?.reason === DRIFT_REASON;
}

function lostText(lastKeepaliveMs: number | null, now: number): string {
  return lastKeepaliveMs === null ? 'agent lost' : `agent lost ${elapsedText(now - lastKeepaliveMs)}`;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** One number and one unit: "40 s", "10 min", "5 h", "3 d". */
export function elapsedText(ms: number): string {
  const elapsed = Math.max(0, ms);
  if (elapsed < MINUTE) return `${Math.floor(elapsed / 1000)} s`;
  if (elapsed < HOUR) return `${Math.floor(elapsed / MINUTE)} min`;
  if (elapsed < 2 * DAY) return `${Math.floor(elapsed / HOUR)} h`;
  return `${Math.floor(elapsed / DAY)} d`;
}

/** ENTER_MAINTENANCE: "enter maintenance"; RMA stays as it is. */
function typeWords(type: string): string {
  return type === 'RMA' ? type : type.toLowerCase().replaceAll('_', ' ');
}

/** ReimageFailed: "reimage failed"; HostAndBMCUnreachable: "host and BMC unreachable". */
export function reasonWords(reason: string): string {
  const words = reason.split(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/);
  return words.map((word) => (/^[A-Z]{2,}$/.test(word) ? word : word.toLowerCase())).join(' ');
}
