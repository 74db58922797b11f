/** What a machine is and what is wrong with it, as one text in one colour. An IDLE machine whose agent is lost is not well. */
import { EFFECTIVE_STATES, type EffectiveState } from '../../src/domain/machine/effective-state.ts';
import { type Tone, toneOf } from '../../src/domain/tone.ts';
import { EffectiveState_Value, type Machine } from '../../src/gen/baremetal/v2/machine_pb.ts';

export interface Headline {
  readonly state: EffectiveState;
  /** What matters most beside the state; empty: nothing. */
  readonly note: string;
  readonly colour: Tone;
}

export function headlineOf({ status }: Machine): Headline {
  const state = EffectiveState_Value[status?.effectiveState ?? EffectiveState_Value.NEW] as EffectiveState;
  const { colour } = EFFECTIVE_STATES[state];
  if (status?.presence === 'expired' && (state === 'IDLE' || state === 'NEW'))
    return { state, note: 'agent lost', colour: toneOf('presence', 'expired') };
  if (status?.service === 'offline' || status?.service === 'quarantined')
    return { state, note: status.service, colour: toneOf('service', status.service) };
  const reason = status?.conditions.find(
    ({ type, status: is }) => is && type === 'NeedsIntervention',
  )?.reason;
  if (state === 'ATTENTION')
    return { state, note: words(reason ?? ''), colour: isFailure(reason) ? 'red' : colour };
  return { state, note: status?.maintenance?.overdue ? 'overdue' : '', colour };
}

function isFailure(reason = ''): boolean {
  return reason.endsWith('Failed');
}

/** ReimageFailed: "reimage failed". */
function words(reason: string): string {
  return reason.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
}
