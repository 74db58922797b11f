/** The dialogs of a rollout's actions: what happens, the reason, and the command that does the same. */
import { type ReactNode, useState } from 'react';
import { useLocation } from 'wouter';
import type { Rollout } from '../../../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { rollouts } from '../../api/clients.ts';
import { newRequestId } from '../../api/request-id.ts';
import { countText } from '../../count-text.ts';
import { rolloutHref } from '../../pages.ts';
import { titleOf } from '../../rollout-view.ts';
import { shellWord } from '../../shell-word.ts';
import { ReasonDialog } from '../../ui/reason-dialog.tsx';
import { useToasts } from '../../ui/toasts.tsx';
import { CheckInput } from '../rollout-draft/text-input.tsx';
import { LimitsDialog } from './limits-dialog.tsx';
import type { AskedAction } from './rollout-actions.ts';

export interface ActionDialogProps {
  readonly rollout: Rollout;
  readonly asked: AskedAction;
  /** With the rollout as it is after that. */
  readonly onDone: (rollout: Rollout) => void;
  readonly onClose: () => void;
}

export function ActionDialog(props: ActionDialogProps) {
  const { asked, rollout } = props;
  switch (asked.action) {
    case 'update-limits':
      return <LimitsDialog {...props} />;
    case 'abort':
      return <AbortDialog {...props} />;
    case 'roll-back':
      return <RollBackDialog {...props} />;
    case 'pause':
      return <PlainDialog {...props} info={pauseInfo(rollout)} />;
    case 'resume':
      return <PlainDialog {...props} info={resumeInfo(rollout)} />;
    case 'approve':
    case 'reject':
      return <PlainDialog {...props} info={decisionInfo(asked.action, asked.wave, rollout)} />;
    case 'retry':
      return <PlainDialog {...props} info={retryInfo(asked, rollout)} />;
    case 'skip':
      return <PlainDialog {...props} info={skipInfo(asked.machineIds, rollout)} />;
  }
}

interface PlainInfo {
  readonly verb: string;
  readonly kind: 'primary' | 'danger-primary';
  readonly reason: 'required' | 'optional';
  readonly effect: string;
  /** After `ingot rollout`. */
  readonly words: readonly string[];
  readonly call: (request: { rolloutId: string; requestId: string; reason: string }) => Promise<Rollout>;
}

function pauseInfo({ rolloutId }: Rollout): PlainInfo {
  return {
    verb: 'Pause',
    kind: 'primary',
    reason: 'optional',
    effect: 'Nothing more starts. What is under way goes on to its end.',
    words: ['pause', rolloutId],
    call: (request) => rollouts.pauseRollout(request),
  };
}

function resumeInfo({ rolloutId }: Rollout): PlainInfo {
  return {
    verb: 'Resume',
    kind: 'primary',
    reason: 'optional',
    effect: 'It goes on where it was. Failures until now do not count for stop rules any more.',
    words: ['resume', rolloutId],
    call: (request) => rollouts.resumeRollout(request),
  };
}

function skipInfo(machineIds: readonly string[], { rolloutId }: Rollout): PlainInfo {
  return {
    verb: 'Skip',
    kind: 'primary',
    reason: 'required',
    effect: `${countText(machineIds.length)} left out: they do not start, and do not count as failed.`,
    words: ['skip', rolloutId, ...machineIds],
    call: (request) => rollouts.skipMachines({ ...request, machineIds: [...machineIds] }),
  };
}

function decisionInfo(action: 'approve' | 'reject', wave: number, { rolloutId }: Rollout): PlainInfo {
  const isApproval = action === 'approve';
  return {
    verb: isApproval ? 'Approve' : 'Reject',
    kind: isApproval ? 'primary' : 'danger-primary',
    reason: isApproval ? 'optional' : 'required',
    effect: isApproval
      ? `Wave ${wave} starts, within the limits.`
      : `The rollout stops before wave ${wave}. It can be resumed or aborted after that.`,
    words: [action, rolloutId, '--wave', String(wave)],
    call: (request) =>
      isApproval ? rollouts.approveWave({ ...request, wave }) : rollouts.rejectWave({ ...request, wave }),
  };
}

function retryInfo(
  { errorCode, machineIds }: Extract<AskedAction, { readonly action: 'retry' }>,
  { rolloutId, failures, machines }: Rollout,
): PlainInfo {
  const group = failures.find((known) => known.errorCode === errorCode);
  const count = machineIds.length || group?.machines || machines?.failed || 0;
  const which = errorCode === '' ? '' : ` with ${errorCode}`;
  return {
    verb: 'Retry',
    kind: 'primary',
    reason: 'optional',
    effect: `${countText(count)}${which} start again, from the step that failed, within the limits.`,
    words: [
      'retry',
      rolloutId,
      ...(errorCode === '' ? [] : ['--error-code', errorCode]),
      ...(machineIds.length === 0 ? [] : machineIds),
    ],
    call: (request) => rollouts.retryFailed({ ...request, errorCode, machineIds: [...machineIds] }),
  };
}

function PlainDialog({ rollout, info, onDone, onClose }: ActionDialogProps & { readonly info: PlainInfo }) {
  const [requestId] = useState(newRequestId);
  const { rolloutId } = rollout;
  return (
    <RolloutDialog
      rollout={rollout}
      {...info}
      act={(reason) => info.call({ rolloutId, requestId, reason })}
      onDone={onDone}
      onClose={onClose}
    >
      <p>{info.effect}</p>
    </RolloutDialog>
  );
}

function AbortDialog({ rollout, onDone, onClose }: ActionDialogProps) {
  const [requestId] = useState(newRequestId);
  const [cancelRunning, setCancelRunning] = useState(false);
  const { rolloutId, machines } = rollout;
  const running = machines?.running ?? 0;
  return (
    <RolloutDialog
      rollout={rollout}
      verb="Abort"
      kind="danger-primary"
      reason="required"
      words={['abort', rolloutId, ...(cancelRunning ? ['--cancel-running'] : [])]}
      act={(reason) => rollouts.abortRollout({ rolloutId, requestId, reason, cancelRunning })}
      onDone={onDone}
      onClose={onClose}
    >
      <p>Nothing more starts, ever. {countText(machines?.pending ?? 0)} had no turn yet.</p>
      <CheckInput
        title={`Also cancel what is under way (${countText(running)})`}
        checked={cancelRunning}
        onChange={setCancelRunning}
      />
    </RolloutDialog>
  );
}

function RollBackDialog({ rollout, onClose }: ActionDialogProps) {
  const [requestId] = useState(newRequestId);
  const [, navigate] = useLocation();
  const { rolloutId } = rollout;
  return (
    <RolloutDialog
      rollout={rollout}
      verb="Roll back"
      kind="danger-primary"
      reason="required"
      words={['rollback', rolloutId]}
      act={(reason) => rollouts.rollBack({ rolloutId, requestId, reason })}
      onDone={(created) => navigate(rolloutHref(created.rolloutId))}
      onClose={onClose}
    >
      <p>
        Creates a new rollout of the machines that this one has changed, with the image or the parameters that
        each had before. It has the same waves and limits, and starts at once.
      </p>
    </RolloutDialog>
  );
}

interface RolloutDialogProps {
  readonly rollout: Rollout;
  readonly verb: string;
  readonly title?: string;
  readonly kind: 'primary' | 'danger-primary';
  readonly reason: 'required' | 'optional';
  readonly words: readonly string[];
  readonly missing?: string;
  readonly act: (reason: string) => Promise<Rollout>;
  readonly onDone: (rollout: Rollout) => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

export function RolloutDialog({ rollout, verb, words, onDone, ...rest }: RolloutDialogProps) {
  const { notify } = useToasts();
  const command = ['ingot', 'rollout', ...words.map(shellWord)].join(' ');
  return (
    <ReasonDialog
      {...rest}
      about={titleOf(rollout)}
      verb={verb}
      goBack="Go back"
      command={(reason) => (reason === '' ? command : `${command} --reason ${shellWord(reason)}`)}
      onDone={(changed) => {
        notify(`${verb}: ${titleOf(rollout)}`);
        onDone(changed);
      }}
    />
  );
}
