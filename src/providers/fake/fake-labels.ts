/** Labels steer a fake machine, so that anyone can try a slow, a failing or a hanging one. */
import type { Labels } from '../../domain/machine/machine.ts';
import type { FakeStepKind, FakeTaskKind } from './fake-state.ts';

export const FAKE_LABELS = {
  stepMs: 'fake/step-ms',
  failStep: 'fake/fail-step',
  hangStep: 'fake/hang-step',
} as const;

/** Short enough to watch, long enough to see. */
const PLAUSIBLE_MS = {
  netboot: 800,
  reboot: 3_000,
  repave: 6_000,
  erase: 6_000,
  join: 2_000,
  shutdown: 2_000,
  exec: 300,
  media: 300,
  bios: 300,
  'boot-order': 300,
  firmware: 4_000,
  volume: 1_000,
  'drive-erase': 4_000,
  'burn-in': 3_000,
  drain: 2_000,
  // Requests to an API, which is done with them when it answers.
  cordon: 0,
  uncordon: 0,
  bmc: 0,
} as const satisfies Record<FakeTaskKind, number>;

const MAX_STEP_MS = 24 * 60 * 60 * 1000;

export function stepDurationMs(labels: Labels, kind: FakeTaskKind): number {
  const text = labels[FAKE_LABELS.stepMs];
  if (PLAUSIBLE_MS[kind] === 0 || text === undefined || !/^\d{1,9}$/.test(text)) return PLAUSIBLE_MS[kind];
  return Math.min(Number(text), MAX_STEP_MS);
}

/** `<step>` fails always, `<step>:<times>` that many times. */
export function failuresWanted(labels: Labels, step: string, kind: FakeStepKind): number {
  const text = labels[FAKE_LABELS.failStep] ?? '';
  const [name, times] = text.split(':');
  if (name !== step && name !== kind) return 0;
  return times === undefined ? Number.POSITIVE_INFINITY : Number.parseInt(times, 10) || 0;
}

export function hangs(labels: Labels, step: string, kind: FakeStepKind): boolean {
  const name = labels[FAKE_LABELS.hangStep];
  return name === step || name === kind;
}

export function isFakeLabel(name: string): boolean {
  return Object.values<string>(FAKE_LABELS).includes(name);
}

/** Says what is wrong with the steering labels, if anything is. */
export function checkFakeLabels(labels: Labels): { label: string; problem: string } | null {
  const stepMs = labels[FAKE_LABELS.stepMs];
  if (stepMs !== undefined && !/^\d{1,9}$/.test(stepMs)) {
    return { label: FAKE_LABELS.stepMs, problem: 'must be a whole number of milliseconds' };
  }
  const failStep = labels[FAKE_LABELS.failStep];
  if (failStep !== undefined && !/^[a-z-]+(:\d{1,6})?$/.test(failStep)) {
    return { label: FAKE_LABELS.failStep, problem: 'must be <step> or <step>:<times>' };
  }
  return null;
}
