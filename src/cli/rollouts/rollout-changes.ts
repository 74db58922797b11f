/** What has happened between two views of a rollout, as lines that stay on the terminal. */
import type { Rollout, RolloutMachine, Wave } from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import type { Colour } from '../output/colour.ts';
import { clockText } from '../output/time-text.ts';
import { machineState, rolloutInfo, rolloutState, waveInfo, waveState } from './rollout-state.ts';
import { countsText, machinesText, waveText } from './rollout-text.ts';

export interface ChangeLine {
  readonly mark: string;
  readonly colour: Colour | undefined;
  readonly text: string;
}

export function rolloutChanges(program: string, before: Rollout | undefined, after: Rollout): ChangeLine[] {
  return [...stateChanges(before, after), ...waveChanges(program, before, after)];
}

function stateChanges(before: Rollout | undefined, after: Rollout): ChangeLine[] {
  const state = rolloutState(after);
  const { mark, colour, isOver } = rolloutInfo(after);
  if (isOver || (before !== undefined && rolloutState(before) === state)) return [];
  const because = after.reason === '' ? '' : `: ${after.reason}`;
  const words = {
    SCHEDULED: `starts at ${clockText(after.spec?.startAt)}`,
    RUNNING: before === undefined ? '' : 'goes on',
    PAUSED: `paused${because}`,
    STOPPED: `stopped${because}`,
    ABORTING: `aborted${because}; what is under way ends`,
  }[state as string];
  return words === undefined || words === '' ? [] : [{ mark, colour, text: words }];
}

/** A rollout in one wave has nothing to say about waves, except what holds it up. */
function waveChanges(program: string, before: Rollout | undefined, after: Rollout): ChangeLine[] {
  return after.waves.flatMap((wave, i) => {
    const old = before?.waves[i];
    const lines: ChangeLine[] = [];
    const isOpened = wave.approvedBy !== '' && (old?.approvedBy ?? '') === '';
    if (isOpened && before !== undefined)
      lines.push({
        mark: '✓',
        colour: 'green',
        text: `${waveText(after, wave)} approved by ${wave.approvedBy}`,
      });
    const isSame = old !== undefined && waveState(old) === waveState(wave);
    const text = isSame ? '' : waveWords(program, after, wave);
    if (text !== '') lines.push({ ...waveInfo(wave), text: `${waveText(after, wave)} ${text}` });
    return lines;
  });
}

function waveWords(program: string, rollout: Rollout, wave: Wave): string {
  const isOnly = rollout.waves.length === 1;
  switch (waveState(wave)) {
    case 'WAITING_FOR_APPROVAL': {
      const who = wave.gate === 'second-person' ? 'a second person' : 'approval';
      const rule = wave.approvalRule === '' ? '' : ` (rule ${wave.approvalRule})`;
      return `waits for ${who}${rule}: ${program} rollout approve ${rollout.rolloutId}`;
    }
    case 'RUNNING':
      return isOnly ? '' : `started, ${machinesText(wave.machines?.total ?? 0)}`;
    case 'SOAKING':
      return `soaks until ${clockText(wave.soaksUntil)}`;
    case 'DONE':
      return isOnly ? '' : `done: ${countsText(wave.machines)}`;
    case 'WAITING':
    case '?':
      return '';
  }
}

/** `m-7 reimage: no link on eno1 [NETBOOT_TIMEOUT]` */
export function failureLine(machine: RolloutMachine): ChangeLine | undefined {
  if (machineState(machine) !== 'FAILED') return undefined;
  const { machineId, stepName, message, errorCode } = machine;
  const code = errorCode === '' ? '' : ` [${errorCode}]`;
  return { mark: '✗', colour: 'red', text: `${machineId} ${stepName}: ${message || 'failed'}${code}` };
}
