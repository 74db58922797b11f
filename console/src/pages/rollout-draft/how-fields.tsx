/** Where, in which waves, and when. */
import { useId } from 'react';
import { countText } from '../../count-text.ts';
import { Button } from '../../ui/button.tsx';
import { type Draft, nextKey, type Target, type WindowDraft } from './draft.ts';
import type { DraftProps } from './step-fields.tsx';
import { CheckInput, TextInput } from './text-input.tsx';

/** `others`: what the user may choose instead, such as the filter of the list that all machines were selected of. */
export function WhereFields({ draft, onDraft, others }: DraftProps & { readonly others: readonly Target[] }) {
  const { target } = draft;
  const name = useId();
  const set = (next: Target) => onDraft({ ...draft, target: next });
  return (
    <>
      {others.length > 1 && (
        <div className="draft-choices">
          {others.map((other) => (
            <label key={other.kind} className="check">
              <input
                type="radio"
                name={name}
                checked={target.kind === other.kind}
                onChange={() => set(other)}
              />
              {other.kind === 'filter'
                ? 'All that match the filter'
                : `The ${countText(other.machineIds.length)} selected now`}
            </label>
          ))}
        </div>
      )}
      {target.kind === 'ids' ? (
        <details className="draft-ids">
          <summary>{countText(target.machineIds.length)} by id</summary>
          <p className="mono wraps">{firstOf(target.machineIds)}</p>
        </details>
      ) : (
        <>
          <TextInput
            title="Filter"
            value={target.filter}
            placeholder="labels.role=web AND phase=READY"
            onChange={(filter) => set({ ...target, filter })}
          />
          <CheckInput
            title="Follow: add machines that come to match while it has not ended"
            checked={target.follow}
            onChange={(follow) => set({ ...target, follow })}
          />
        </>
      )}
    </>
  );
}

const SHOWN = 200;

function firstOf(ids: readonly string[]): string {
  const rest = ids.length - SHOWN;
  return `${ids.slice(0, SHOWN).join(', ')}${rest > 0 ? ` and ${rest.toLocaleString('en')} more` : ''}`;
}

const WAVE_KINDS = {
  one: 'One wave',
  sizes: 'By size',
  by: 'By a field',
} as const satisfies Record<Draft['waveKind'], string>;

const GATES = {
  automatic: 'Automatic',
  approval: 'Approval by an operator',
  'second-person': 'Approval by another person',
} as const satisfies Record<Draft['gate'], string>;

export function WaveFields({ draft, onDraft }: DraftProps) {
  const { waveKind } = draft;
  return (
    <>
      <div className="draft-pair">
        <label className="field">
          <span>Waves</span>
          <select
            className="input"
            value={waveKind}
            onChange={(event) => onDraft({ ...draft, waveKind: event.target.value as Draft['waveKind'] })}
          >
            {Object.entries(WAVE_KINDS).map(([kind, title]) => (
              <option key={kind} value={kind}>
                {title}
              </option>
            ))}
          </select>
        </label>
        {waveKind === 'sizes' && (
          <TextInput
            title="Sizes"
            value={draft.waves}
            placeholder="1, 10%, rest"
            onChange={(waves) => onDraft({ ...draft, waves })}
          />
        )}
        {waveKind === 'by' && (
          <TextInput
            title="Field"
            value={draft.by}
            placeholder="location.rack"
            onChange={(by) => onDraft({ ...draft, by })}
          />
        )}
      </div>
      <label className="field">
        <span>Gate of each wave</span>
        <select
          className="input"
          value={draft.gate}
          onChange={(event) => onDraft({ ...draft, gate: event.target.value as Draft['gate'] })}
        >
          {Object.entries(GATES).map(([gate, title]) => (
            <option key={gate} value={gate}>
              {title}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}

const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

export function WhenFields({ draft, onDraft }: DraftProps) {
  const { windows } = draft;
  const replace = (index: number, window: WindowDraft) =>
    onDraft({ ...draft, windows: windows.with(index, window) });
  const add = () =>
    onDraft({
      ...draft,
      windows: [
        ...windows,
        {
          key: nextKey(),
          days: ['mon', 'tue', 'wed', 'thu', 'fri'],
          from: '09:00',
          to: '16:00',
          timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
        },
      ],
    });
  return (
    <>
      <div className="draft-pair">
        <TextInput
          title="Start (local time)"
          type="datetime-local"
          value={draft.startAt}
          onChange={(startAt) => onDraft({ ...draft, startAt })}
        />
        <TextInput
          title="Deadline (local time)"
          type="datetime-local"
          value={draft.deadline}
          onChange={(deadline) => onDraft({ ...draft, deadline })}
        />
      </div>
      {windows.map((window, index) => (
        <WindowFields
          key={window.key}
          window={window}
          number={index + 1}
          onWindow={(next) => replace(index, next)}
          onRemove={() => onDraft({ ...draft, windows: windows.toSpliced(index, 1) })}
        />
      ))}
      <div>
        <Button onClick={add}>Add a maintenance window</Button>
      </div>
    </>
  );
}

interface WindowFieldsProps {
  readonly window: WindowDraft;
  readonly number: number;
  readonly onWindow: (window: WindowDraft) => void;
  readonly onRemove: () => void;
}

function WindowFields({ window, number, onWindow, onRemove }: WindowFieldsProps) {
  const { days } = window;
  const toggle = (day: string) =>
    onWindow({
      ...window,
      days: days.includes(day)
        ? days.filter((known) => known !== day)
        : DAYS.filter((known) => known === day || days.includes(known)),
    });
  return (
    <fieldset className="draft-limit">
      <legend>Window {number}</legend>
      <div className="row draft-days">
        {DAYS.map((day) => (
          <CheckInput key={day} title={day} checked={days.includes(day)} onChange={() => toggle(day)} />
        ))}
      </div>
      <TextInput
        title="From"
        type="time"
        value={window.from}
        onChange={(from) => onWindow({ ...window, from })}
      />
      <TextInput title="To" type="time" value={window.to} onChange={(to) => onWindow({ ...window, to })} />
      <TextInput
        title="Time zone"
        value={window.timeZone}
        placeholder="UTC"
        onChange={(timeZone) => onWindow({ ...window, timeZone })}
      />
      <Button kind="quiet" label={`Remove window ${number}`} onClick={onRemove}>
        ×
      </Button>
    </fieldset>
  );
}
