/**
 * The rules of domain/machine/headline.ts over the columns of a machine, as one expression: the name of the rule that decides.
 * Only whether a step is stalled is not a matter of the machine's row.
 */
import { DRIFT_REASON, EXPECTED } from '../../domain/condition/drift.ts';
import {
  HEADLINE_REASONS,
  HEADLINE_RULES,
  HEADLINE_TONE_NAMES,
  HEADLINE_TONES,
  type HeadlineReason,
  type HeadlineRule,
  type HeadlineTest,
} from '../../domain/machine/headline.ts';
import type { ServiceState } from '../../domain/machine/service-state.ts';

const list = (texts: readonly string[]) => texts.map((text) => `'${text}'`).join(', ');

/** The states that fit each service state; a quarantined machine is compared with an active one. */
const DIFFERS = `(coalesce(observed ->> 'upstreamId', '') <> '' AND observed -> 'accepted' IS NULL AND CASE service ${Object.entries<
  (typeof EXPECTED)[ServiceState]
>({ ...EXPECTED, quarantined: EXPECTED.active })
  .flatMap(([service, { states }]) =>
    states === null ? [] : [`WHEN '${service}' THEN observed ->> 'state' NOT IN (${list(states)})`],
  )
  .join(' ')} ELSE false END)`;

const DRIFTED = `((conditions -> 'NeedsIntervention' -> 'status') = 'true' AND conditions -> 'NeedsIntervention' ->> 'reason' = '${DRIFT_REASON}')`;

const HOLDS = {
  operation: 'active_operation_id IS NOT NULL',
  stalled: 'false',
  drift: `(${DIFFERS} OR ${DRIFTED})`,
  'maintenance over': `(phase = 'MAINTENANCE' AND (maintenance ->> 'until')::timestamptz <= now())`,
  always: 'true',
} as const satisfies Record<Extract<HeadlineTest, { holds: unknown }>['holds'], string>;

function condition(test: HeadlineTest): string {
  if ('service' in test) return `service IN (${list(test.service)})`;
  if ('install' in test) return `install IN (${list(test.install)})`;
  if ('presence' in test) return `presence IN (${list(test.presence)})`;
  if ('phase' in test) return `phase = '${test.phase}'`;
  if ('holds' in test) return HOLDS[test.holds];
  const status = `(conditions -> '${test.condition}' -> 'status') = '${test.is}'`;
  return test.reasonEnds === undefined
    ? status
    : `(${status} AND conditions -> '${test.condition}' ->> 'reason' LIKE '%${test.reasonEnds}')`;
}

function rule({ test, unless = [] }: HeadlineRule): string {
  return [condition(test), ...unless.map((other) => `NOT coalesce(${condition(other)}, false)`)].join(
    ' AND ',
  );
}

/** The name of the rule. */
export const HEADLINE_COLUMN = `(CASE ${HEADLINE_REASONS.map(
  (name) => `WHEN ${rule(HEADLINE_RULES[name])} THEN '${name}'`,
).join(' ')} END)`;

/** The expression is long, and evaluated once: the tone is looked up by the rule's name. */
function byReason(valueFor: (name: HeadlineReason) => string): string {
  return `('${JSON.stringify(Object.fromEntries(HEADLINE_REASONS.map((name) => [name, valueFor(name)])))}'::jsonb ->> ${HEADLINE_COLUMN})`;
}

export const TONE_COLUMN = byReason((name) => HEADLINE_RULES[name].tone);

/** Sorts from failed to quiet. */
export const TONE_ORDER = byReason((name) => String(HEADLINE_TONE_NAMES.indexOf(HEADLINE_RULES[name].tone)));

/**
 * What every machine that needs attention has, as the index machines_in_trouble has it: as the first term it narrows the search
 * to a few of many.
 */
const TROUBLED = `(${[
  `(conditions -> 'RMA' -> 'status') = 'true'`,
  `(conditions -> 'NeedsIntervention' -> 'status') = 'true'`,
  `(conditions -> 'Degraded' -> 'status') = 'true'`,
  `(conditions -> 'Reachable' -> 'status') = 'false'`,
  `install = 'install_failed'`,
  `presence = 'expired'`,
  `service IN ('quarantined', 'offline', 'removing')`,
  `phase = 'MAINTENANCE' AND (maintenance ->> 'until') IS NOT NULL`,
  `(observed ->> 'state') <> 'Deployed'`,
]
  .map((term) => `coalesce(${term}, false)`)
  .join(' OR ')})`;

const NEEDING_ATTENTION = HEADLINE_REASONS.filter(
  (name) => HEADLINE_TONES[HEADLINE_RULES[name].tone].needsAttention,
);

export const NEEDS_ATTENTION_COLUMN = `(${TROUBLED} AND ${HEADLINE_COLUMN} IN (${list(NEEDING_ATTENTION)}))`;
