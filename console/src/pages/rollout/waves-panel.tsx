/** The waves of a rollout: state, machines by state, the gate and who may open it. */
import { useState } from 'react';
import { type Tone, toneOf } from '../../../../src/domain/tone.ts';
import type {
  MachineCounts,
  Rollout,
  Wave,
} from '../../../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { METHODS, useForbidden, useIdentity } from '../../identity.tsx';
import { countOf, finishedOf, MACHINE_STATE_WORDS, stateText, waveState } from '../../rollout-view.ts';
import { Button } from '../../ui/button.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Age, TimeLeft } from '../../ui/time.tsx';
import { CountsBar } from './counts-bar.tsx';
import { type AskedAction, whyNotApprove, whyNotNow } from './rollout-actions.ts';

export interface WavesPanelProps {
  readonly rollout: Rollout;
  /** The wave that the grid shows; 0: all. */
  readonly shown: number;
  readonly onShow: (wave: number) => void;
  readonly onAct: (asked: AskedAction) => void;
}

/** More waves than this are shown around the current one. */
const AT_ONCE = 8;
const BEFORE = 2;

export function WavesPanel({ rollout, shown, onShow, onAct }: WavesPanelProps) {
  const { waves } = rollout;
  const [isWhole, setWhole] = useState(false);
  const current = waves.findIndex((wave) => waveState(wave) !== 'done');
  const from = Math.max(0, Math.min((current < 0 ? waves.length : current) - BEFORE, waves.length - AT_ONCE));
  const inView = isWhole ? waves : waves.slice(from, from + AT_ONCE);
  return (
    <Panel
      title={waves.length === 1 ? 'One wave' : `${waves.length} waves`}
      padding="none"
      actions={
        waves.length > AT_ONCE && (
          <Button kind="quiet" pressed={isWhole} onClick={() => setWhole(!isWhole)}>
            {isWhole ? 'Show the current waves' : `Show all ${waves.length} waves`}
          </Button>
        )
      }
    >
      <ol className="ro-waves" start={from + 1}>
        {inView.map((wave) => (
          <WaveRow
            key={wave.number}
            rollout={rollout}
            wave={wave}
            isShown={shown === wave.number}
            onShow={() => onShow(shown === wave.number ? 0 : wave.number)}
            onAct={onAct}
          />
        ))}
      </ol>
    </Panel>
  );
}

interface WaveRowProps {
  readonly rollout: Rollout;
  readonly wave: Wave;
  readonly isShown: boolean;
  readonly onShow: () => void;
  readonly onAct: (asked: AskedAction) => void;
}

function WaveRow({ rollout, wave, isShown, onShow, onAct }: WaveRowProps) {
  const state = waveState(wave);
  const { machines } = wave;
  return (
    <li className="ro-wave" aria-label={`Wave ${wave.number}`}>
      <div className="ro-wave-name">
        <strong>Wave {wave.number}</strong>
        {wave.name !== '' && <span className="soft wraps">{wave.name}</span>}
      </div>
      <div className="ro-wave-state">
        <span className={`badge tone-${toneOfWave(wave)}`}>{stateText(state)}</span>
      </div>
      <div className="ro-wave-progress">
        <CountsBar counts={machines} />
        <span className="soft numeric">
          {finishedOf(machines).toLocaleString('en')} of {(machines?.total ?? 0).toLocaleString('en')}{' '}
          finished
          {notable(machines)}
        </span>
      </div>
      <WaveGate rollout={rollout} wave={wave} onAct={onAct} />
      <div className="ro-wave-show">
        <Button
          kind="quiet"
          pressed={isShown}
          onClick={onShow}
          label={`Show the machines of wave ${wave.number}`}
        >
          Machines
        </Button>
      </div>
    </li>
  );
}

/** A wave that is over is well only where none of its machines failed. */
function toneOfWave(wave: Wave): Tone {
  const state = waveState(wave);
  return state === 'done' && countOf(wave.machines, 'failed') > 0 ? 'red' : toneOf('wave', state);
}

/** The states that a reader looks for. */
function notable(counts: MachineCounts | undefined): string {
  return (['failed', 'running', 'skipped', 'canceled', 'ineligible'] as const)
    .filter((state) => countOf(counts, state) > 0)
    .map((state) => ` · ${countOf(counts, state).toLocaleString('en')} ${MACHINE_STATE_WORDS[state]}`)
    .join('');
}

interface WaveGateProps {
  readonly rollout: Rollout;
  readonly wave: Wave;
  readonly onAct: (asked: AskedAction) => void;
}

function WaveGate({ rollout, wave, onAct }: WaveGateProps) {
  const { name } = useIdentity();
  const forbidden = useForbidden();
  if (waveState(wave) !== 'waiting_for_approval')
    return (
      <div className="ro-wave-gate soft">
        <span>
          <GateText wave={wave} />
        </span>
      </div>
    );
  const role = forbidden('operator', METHODS.decideWave);
  return (
    <div className="ro-wave-gate">
      <span>{whoMayOpen(rollout, wave)}</span>
      <span className="row">
        <Button
          kind="primary"
          disabledBecause={role || whyNotNow('approve', rollout) || whyNotApprove(rollout, wave, name)}
          onClick={() => onAct({ action: 'approve', wave: wave.number })}
        >
          Approve
        </Button>
        <Button
          kind="danger"
          disabledBecause={role || whyNotNow('reject', rollout)}
          onClick={() => onAct({ action: 'reject', wave: wave.number })}
        >
          Reject
        </Button>
      </span>
    </div>
  );
}

function whoMayOpen({ createdBy }: Rollout, { gate, approvalRule }: Wave): string {
  const rule = approvalRule === '' ? '' : ` (rule ${approvalRule})`;
  return gate === 'second-person'
    ? `Waits for a person other than ${createdBy}${rule}`
    : `Waits for the approval of an operator${rule}`;
}

const GATES: Readonly<Record<string, string>> = {
  automatic: 'starts by itself',
  approval: 'needs an approval',
  'second-person': 'needs the approval of a second person',
};

function GateText({ wave }: { wave: Wave }) {
  const { gate, approvedBy, approvedAt, soaksUntil, finishedAt, approvalRule } = wave;
  const state = waveState(wave);
  if (state === 'soaking')
    return (
      <>
        Soaks for <TimeLeft until={soaksUntil} />
      </>
    );
  if (approvedBy !== '')
    return (
      <>
        Approved by {approvedBy} <Age at={approvedAt} />
      </>
    );
  if (state === 'done')
    return finishedAt ? (
      <>
        Finished <Age at={finishedAt} />
      </>
    ) : null;
  if (state === 'running') return null;
  return (
    <>
      {GATES[gate] ?? gate}
      {approvalRule !== '' && ` (rule ${approvalRule})`}
    </>
  );
}
