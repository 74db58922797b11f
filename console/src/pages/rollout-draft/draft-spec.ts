/** A draft as the API takes it, and as a file for the command line: the same fields by the same names. */
import { fromJson, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import {
  type RolloutSpec,
  RolloutSpecSchema,
} from '../../../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import {
  type Draft,
  type LimitDraft,
  nameOf,
  type StepDraft,
  type StopDraft,
  type WindowDraft,
} from './draft.ts';
import { verbInfo } from './step-verbs.ts';

export function specOf(draft: Draft): RolloutSpec {
  return fromJson(RolloutSpecSchema, specJson(draft));
}

/** Only what is set. */
export function specJson(draft: Draft): JsonObject {
  const { target, waveKind, limits, windows } = draft;
  return compact({
    name: nameOf(draft),
    ...(target.kind === 'filter'
      ? { filter: target.filter.trim(), follow: target.follow }
      : { machine_ids: [...target.machineIds] }),
    steps: draft.steps.map(stepJson),
    waves: waveKind === 'sizes' ? wordsOf(draft.waves) : [],
    by: waveKind === 'by' ? draft.by.trim() : '',
    soak: draft.soak.trim(),
    gate: draft.gate === 'automatic' ? '' : draft.gate,
    max_parallel: amount(draft.maxParallel),
    limits: limits.map(limitJson),
    stop: stopJson(draft.stop),
    windows: windows.map(windowJson),
    start_at: timeOf(draft.startAt),
    deadline: timeOf(draft.deadline),
    reason: draft.reason.trim(),
    override_budget: draft.overrideBudget,
  });
}

/** Separated by commas or spaces. */
function wordsOf(text: string): string[] {
  return text
    .replaceAll(/\s+%/g, '%')
    .split(/[\s,]+/)
    .filter((word) => word !== '');
}

export function amount(text: string): string {
  return text.replaceAll(/\s+/g, '');
}

function stepJson({ verb, values }: StepDraft): JsonObject {
  const settings = verbInfo(verb).fields.map(({ name, kind }) => {
    const value = (values[name] ?? '').trim();
    return [name, kind === 'check' ? value !== '' : value] as const;
  });
  return { [verb]: compact(Object.fromEntries(settings)) };
}

export function limitJson({ groupBy, filter, maxUnavailable }: LimitDraft): JsonObject {
  return compact({
    group_by: groupBy.trim(),
    filter: filter.trim(),
    max_unavailable: amount(maxUnavailable),
  });
}

export function stopJson(stop: StopDraft): JsonObject {
  return compact({
    after_failures: Number(stop.afterFailures),
    failure_percent: Number(stop.failurePercent),
    same_error: Number(stop.sameError),
    pool_degraded: stop.poolDegraded,
    unhealthy: stop.unhealthy.trim(),
    cancel_running: stop.cancelRunning,
  });
}

function windowJson({ days, from, to, timeZone }: WindowDraft): JsonObject {
  return compact({ days: [...days], from, to, time_zone: timeZone.trim() });
}

/** The time of an input, which is local, for the API. */
function timeOf(local: string): string {
  return local === '' ? '' : new Date(local).toISOString();
}

function compact(fields: Readonly<Record<string, JsonValue>>): JsonObject {
  const isSet = (value: JsonValue) =>
    value !== '' &&
    value !== false &&
    value !== 0 &&
    !(Array.isArray(value) && value.length === 0) &&
    !(isObject(value) && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => isSet(value)));
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** For `ingot rollout start -f`. */
export function yamlOf(draft: Draft): string {
  return lines(specJson(draft)).join('\n');
}

function lines(fields: JsonObject): string[] {
  return Object.entries(fields).flatMap(([name, value]) => {
    if (!Array.isArray(value) || !value.some((item) => isObject(item)))
      return [`${name}: ${flow(value ?? '')}`];
    return [`${name}:`, ...value.map((item) => `  - ${isObject(item) ? flowItem(item) : flow(item)}`)];
  });
}

/** A step has one field: `reimage: { image_ref: x }` reads better than a map in a map. */
function flowItem(item: JsonObject): string {
  const [[name, value] = ['', ''], ...others] = Object.entries(item);
  return others.length === 0 && isObject(value) ? `${name}: ${flow(value)}` : flow(item);
}

function flow(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`;
  if (isObject(value)) {
    const parts = Object.entries(value).map(([name, part]) => `${name}: ${flow(part ?? '')}`);
    return parts.length === 0 ? '{}' : `{ ${parts.join(', ')} }`;
  }
  return typeof value === 'string' ? scalar(value) : String(value);
}

const PLAIN = /^[A-Za-z][A-Za-z0-9_./-]*$/;
/** Words that YAML reads as another type. */
const RESERVED = /^(true|false|yes|no|on|off|null|y|n)$/i;

function scalar(text: string): string {
  return PLAIN.test(text) && !RESERVED.test(text) ? text : JSON.stringify(text);
}
