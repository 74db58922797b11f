/** One sentence on top of the page: what the rollout does, or what holds it up. */
import type { RolloutState } from '../../../../src/domain/rollout/rollout.ts';
import type { Rollout } from '../../../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { countText } from '../../count-text.ts';
import { rolloutState, waveState } from '../../rollout-view.ts';

export interface Headline {
  readonly text: string;
  /** What to do next; empty: nothing has to be done. */
  readonly advice: string;
}

export function headlineOf(rollout: Rollout): Headline {
  const state = rolloutState(rollout);
  const said = STATE_TEXTS[state](rollout);
  // While it goes on, the server knows the cause; after that the reason that people gave says more.
  const waits = (state === 'running' || state === 'scheduled') && rollout.waitingFor !== '';
  const text = waits ? sentence(rollout.waitingFor) : said;
  return { text, advice: ADVICE[state] };
}

const ADVICE = {
  scheduled: '',
  running: '',
  paused: 'Resume it, or abort it.',
  stopped: 'Look at the failures below. Then resume it, retry the machines that failed, or abort it.',
  aborting: '',
  succeeded: '',
  failed: 'Retry the machines that failed, or roll back.',
  aborted: '',
  expired: 'Start another rollout for the machines that had no turn.',
} as const satisfies Record<RolloutState, string>;

const STATE_TEXTS = {
  scheduled: () => 'Waits for its start time.',
  running: runningText,
  paused: ({ reason }) => because('Paused', reason),
  stopped: ({ reason }) => because('Stopped', reason),
  aborting: ({ machines, reason }) =>
    `${because('Aborted', reason)} ${countText(machines?.running ?? 0)} under way end first.`,
  succeeded: ({ machines }) => `Done: ${doneText(machines)}`,
  failed: ({ machines, reason }) =>
    reason === ''
      ? `Ended: ${countText(machines?.failed ?? 0)} failed of ${(machines?.total ?? 0).toLocaleString('en')}.`
      : because('Ended', reason),
  aborted: ({ reason, machines }) =>
    `${because('Aborted', reason)} ${countText((machines?.pending ?? 0) + (machines?.canceled ?? 0))} had no turn or were canceled.`,
  expired: ({ reason }) => (reason === '' ? 'The deadline passed.' : because('Expired', reason)),
} as const satisfies Record<RolloutState, (rollout: Rollout) => string>;

function runningText({ waves, machines }: Rollout): string {
  const wave = waves.find((candidate) => waveState(candidate) === 'running');
  const running = `${countText(machines?.running ?? 0)} under way`;
  if (!wave || waves.length < 2) return `Nothing holds it up: ${running}.`;
  return `Nothing holds it up: wave ${wave.number} of ${waves.length}, ${running}.`;
}

function doneText(machines: Rollout['machines']): string {
  const { succeeded = 0, skipped = 0, ineligible = 0 } = machines ?? {};
  const others = [
    skipped > 0 ? `${skipped.toLocaleString('en')} skipped` : '',
    ineligible > 0 ? `${ineligible.toLocaleString('en')} not eligible` : '',
  ].filter((text) => text !== '');
  return [`${countText(succeeded)} succeeded`, ...others].join(', ').concat('.');
}

function because(what: string, reason: string): string {
  return reason === '' ? `${what}.` : `${what}: ${withStop(reason)}`;
}

function withStop(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function sentence(text: string): string {
  return withStop(`${text.charAt(0).toUpperCase()}${text.slice(1)}`);
}
