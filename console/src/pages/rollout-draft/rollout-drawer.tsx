/**
 * Writes a rollout: what, where, how and when at the left, and at the right what the server says that it would do. Start
 * creates it; from then on it goes on by itself, whatever happens to this tab.
 */
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { useLocation } from 'wouter';
import { rollouts } from '../../api/clients.ts';
import { failureOf } from '../../api/failure.ts';
import { newRequestId } from '../../api/request-id.ts';
import { countText } from '../../count-text.ts';
import { METHODS, useForbidden, useIdentity } from '../../identity.tsx';
import { rolloutHref } from '../../pages.ts';
import '../../styles/rollout-draft.css';
import { Button } from '../../ui/button.tsx';
import { Command } from '../../ui/command.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { type Draft, draftFault, isDestructive, nameOf, newDraft, type Target, withValues } from './draft.ts';
import { specOf, yamlOf } from './draft-spec.ts';
import { WaveFields, WhenFields, WhereFields } from './how-fields.tsx';
import { LimitFields, SpeedFields, StopFields } from './pace-fields.tsx';
import { PreviewPane } from './preview-pane.tsx';
import { StepFields } from './step-fields.tsx';
import { type Verb, verbInfo } from './step-verbs.ts';
import { CheckInput, TextInput } from './text-input.tsx';
import { type PreviewState, usePreview } from './use-preview.ts';

export interface RolloutDrawerProps {
  /** The first is the one to start with; the user may choose another. */
  readonly targets: readonly [Target, ...Target[]];
  readonly verbs: readonly Verb[];
  /** Parameters of the first step, by the names of the API. */
  readonly values?: Readonly<Record<string, string>>;
  readonly onClose: () => void;
}

export function RolloutDrawer({ targets, verbs, values = {}, onClose }: RolloutDrawerProps) {
  const [draft, setDraft] = useState(() => withValues(newDraft(targets[0], verbs), values));
  const [typed, setTyped] = useState('');
  // The same rollout again is the same request; another draft is another one.
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  const requestId = useMemo(newRequestId, [draft]);
  const [, navigate] = useLocation();
  const state = usePreview(draft);
  const fault = draftFault(draft);
  const start = useMutation({
    mutationFn: () => rollouts.createRollout({ spec: specOf(draft), requestId }),
    onSuccess: ({ rolloutId }) => navigate(rolloutHref(rolloutId)),
  });
  const eligible = state.preview?.eligible ?? 0;
  const mustType = isDestructive(draft) && eligible > 0;
  const disabledBecause = useWhyNotStart({
    draft,
    state,
    isConfirmed: !mustType || typed.trim() === String(eligible),
    isStarting: start.isPending,
  });
  return (
    <Dialog
      title={titleOf(draft)}
      size="drawer"
      onClose={onClose}
      onSubmit={() => {
        if (disabledBecause === '') start.mutate();
      }}
      foot={
        <>
          {start.isError && (
            <p className="fault draft-fault" role="alert">
              {failureOf(start.error).message} {failureOf(start.error).advice}
            </p>
          )}
          {mustType && (
            <label className="draft-typed">
              <span>{`This destroys data. Type ${eligible} to confirm`}</span>
              <input
                className="input mono"
                inputMode="numeric"
                autoComplete="off"
                value={typed}
                onChange={(event) => setTyped(event.target.value)}
              />
            </label>
          )}
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            kind={isDestructive(draft) ? 'danger-primary' : 'primary'}
            disabledBecause={disabledBecause}
          >
            {state.isCurrent && state.preview ? `Start: ${countText(eligible)}` : 'Start'}
          </Button>
        </>
      }
    >
      <div className="draft">
        <DraftFields draft={draft} onDraft={setDraft} targets={targets} />
        <div className="draft-side">
          <PreviewPane state={state} fault={fault} />
          {fault === '' && <AsFile draft={draft} />}
        </div>
      </div>
    </Dialog>
  );
}

function titleOf({ steps }: Draft): string {
  const [first] = steps;
  return first && steps.length === 1
    ? `New rollout: ${verbInfo(first.verb).title.toLowerCase()}`
    : 'New rollout';
}

interface StartState {
  readonly draft: Draft;
  readonly state: PreviewState;
  readonly isConfirmed: boolean;
  readonly isStarting: boolean;
}

function useWhyNotStart({ draft, state, isConfirmed, isStarting }: StartState): string {
  const { preview, isCurrent, failure } = state;
  const forbidden = useForbidden();
  const fault = draftFault(draft) || forbidden('operator', METHODS.createRollout);
  if (fault !== '') return fault;
  if (isStarting) return 'Request in progress.';
  if (isCurrent && failure !== null) return failureOf(failure).message;
  if (!isCurrent || !preview) return 'Waiting for the preview…';
  if (preview.refusals.length > 0) return preview.refusals[0] ?? '';
  if (preview.eligible === 0) return 'No machine is eligible.';
  return isConfirmed ? '' : `Type ${preview.eligible} to confirm.`;
}

interface DraftFieldsProps {
  readonly draft: Draft;
  readonly onDraft: (draft: Draft) => void;
  readonly targets: readonly Target[];
}

function DraftFields({ draft, onDraft, targets }: DraftFieldsProps) {
  const { role } = useIdentity();
  return (
    <div className="draft-fields">
      <Group title="What">
        <StepFields draft={draft} onDraft={onDraft} />
      </Group>
      <Group title="Where">
        <WhereFields draft={draft} onDraft={onDraft} others={targets} />
      </Group>
      <Group title="How">
        <WaveFields draft={draft} onDraft={onDraft} />
        <SpeedFields pace={draft} onPace={onDraft} />
      </Group>
      <Group title="Stop rules">
        <StopFields pace={draft} onPace={onDraft} />
      </Group>
      <Group title="Limits">
        <LimitFields pace={draft} onPace={onDraft} />
      </Group>
      <Group title="When">
        <WhenFields draft={draft} onDraft={onDraft} />
      </Group>
      <Group title="For people">
        <TextInput
          title="Name"
          value={draft.name}
          placeholder={nameOf(draft)}
          onChange={(name) => onDraft({ ...draft, name })}
        />
        <TextInput
          title="Reason (optional)"
          value={draft.reason}
          onChange={(reason) => onDraft({ ...draft, reason })}
        />
        {role === 'admin' && (
          <CheckInput
            title="Override disruption budgets (needs a reason)"
            checked={draft.overrideBudget}
            onChange={(overrideBudget) => onDraft({ ...draft, overrideBudget })}
          />
        )}
      </Group>
    </div>
  );
}

function Group({ title, children }: { title: string; children: ReactNode }) {
  return (
    <fieldset className="draft-group">
      <legend>{title}</legend>
      {children}
    </fieldset>
  );
}

/** A file of thousands of ids is written when it is asked for. */
function AsFile({ draft }: { draft: Draft }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="draft-file" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The same with the command line</summary>
      {isOpen && (
        <>
          <p className="soft">rollout.yaml:</p>
          <Command>{yamlOf(draft)}</Command>
          <Command>ingot rollout start -f rollout.yaml</Command>
        </>
      )}
    </details>
  );
}
