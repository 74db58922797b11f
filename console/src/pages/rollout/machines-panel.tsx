/** The machines of a rollout: how many are in which state and at which step, the grid of all, and the table of the chosen. */
import { useMemo, useState } from 'react';
import { useLocation } from 'wouter';
import { toneOf } from '../../../../src/domain/tone.ts';
import type { Rollout } from '../../../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { countText } from '../../count-text.ts';
import { machineHref, operationHref } from '../../pages.ts';
import {
  countOf,
  MACHINE_STATE_WORDS,
  MACHINE_STATES,
  stateText,
  verbOf,
  waveState,
} from '../../rollout-view.ts';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { Panel } from '../../ui/panel.tsx';
import {
  ALL_MACHINES,
  canSkip,
  countsBySteps,
  isAll,
  isChosen,
  type MachineChoice,
} from './machine-choice.ts';
import { MachineGrid } from './machine-grid.tsx';
import { MachinesTable } from './machines-table.tsx';
import type { AskedAction, WhyNot } from './rollout-actions.ts';
import type { RolloutFeed } from './rollout-feed.ts';
import type { GridMachine } from './rollout-machines.ts';

export interface MachinesPanelProps {
  readonly feed: RolloutFeed;
  readonly rollout: Rollout;
  readonly choice: MachineChoice;
  readonly onChoice: (choice: MachineChoice) => void;
  readonly whyNot: WhyNot;
  readonly onAct: (asked: AskedAction) => void;
}

export function MachinesPanel({ feed, rollout, choice, onChoice, whyNot, onAct }: MachinesPanelProps) {
  const { list } = feed.machines;
  const { machines: state, read, machinesError } = feed.status;
  const [, navigate] = useLocation();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const steps = rollout.spec?.steps.length ?? 0;
  const shown = useMemo(() => list.filter((machine) => isChosen(choice, machine)), [list, choice]);
  const titles = useMemo(() => waveTitles(rollout), [rollout]);
  // The operation tells more than the machine, where there is one.
  const open = ({ machineId, operationId }: GridMachine) =>
    navigate(operationId === '' ? machineHref(machineId) : operationHref(operationId));
  return (
    <Panel title="Machines" padding="none">
      <StateChips rollout={rollout} choice={choice} onChoice={onChoice} />
      <StepStrip rollout={rollout} machines={list} choice={choice} onChoice={onChoice} />
      {state === 'loading' && <LoadingMachines read={read} total={rollout.machines?.total ?? 0} />}
      {machinesError !== null && (
        <Failed
          what={state === 'old' ? 'The machines may be out of date' : 'Failed to load the machines'}
          error={machinesError}
          onRetry={() => feed.readMachinesAgain()}
        />
      )}
      {list.length > 0 && (
        <>
          <MachineGrid
            machines={list}
            isChosen={(machine) => isChosen(choice, machine)}
            titleOf={(wave) => titles.get(wave) ?? `Wave ${wave}`}
            steps={steps}
            onOpen={open}
          />
          <SelectionBar
            shown={shown.length}
            total={list.length}
            selected={list.filter(({ machineId }) => selected.has(machineId))}
            onShowAll={isAll(choice) ? null : () => onChoice(ALL_MACHINES)}
            onClear={() => setSelected(new Set())}
            whyNot={whyNot}
            onAct={onAct}
          />
          {shown.length === 0 ? (
            <Empty title="No results">No machine is there now.</Empty>
          ) : (
            <MachinesTable
              machines={shown}
              steps={steps}
              selected={selected}
              onSelect={(id) => setSelected((before) => toggled(before, [id]))}
              onSelectAll={() =>
                setSelected((before) =>
                  toggled(
                    before,
                    shown.map(({ machineId }) => machineId),
                  ),
                )
              }
            />
          )}
        </>
      )}
      {state === 'fresh' && list.length === 0 && <Empty title="No machines" />}
    </Panel>
  );
}

/** Selects all of these, or deselects them if all are selected. */
function toggled(before: ReadonlySet<string>, ids: readonly string[]): ReadonlySet<string> {
  const next = new Set(before);
  const isOut = ids.every((id) => before.has(id));
  for (const id of ids) {
    if (isOut) next.delete(id);
    else next.add(id);
  }
  return next;
}

function waveTitles({ waves }: Rollout): ReadonlyMap<number, string> {
  return new Map(
    waves.map((wave) => {
      const name = wave.name === '' ? '' : ` · ${wave.name}`;
      const state = stateText(waveState(wave)).toLowerCase();
      return [wave.number, `Wave ${wave.number}${name} · ${countText(wave.machines?.total ?? 0)} · ${state}`];
    }),
  );
}

function LoadingMachines({ read, total }: { read: number; total: number }) {
  return (
    <>
      <Loading lines={4} />
      <p className="ro-grid-note soft numeric" role="status">
        {read > 0 && `Read ${read.toLocaleString('en')} of ${countText(total)}`}
      </p>
    </>
  );
}

interface ChoiceProps {
  readonly rollout: Rollout;
  readonly choice: MachineChoice;
  readonly onChoice: (choice: MachineChoice) => void;
}

/** Also the legend of the grid: the same shapes and colours. */
function StateChips({ rollout, choice, onChoice }: ChoiceProps) {
  const { machines } = rollout;
  return (
    <div className="ro-chips" role="toolbar" aria-label="Machines by state">
      <Button kind="quiet" pressed={isAll(choice)} onClick={() => onChoice(ALL_MACHINES)}>
        All <span className="numeric">{(machines?.total ?? 0).toLocaleString('en')}</span>
      </Button>
      {MACHINE_STATES.map((state) => (
        <Button
          key={state}
          kind="quiet"
          pressed={choice.state === state}
          onClick={() => onChoice({ ...ALL_MACHINES, state: choice.state === state ? null : state })}
        >
          <span className={`ro-mark ${state} tone-${toneOf('rollout_machine', state)}`} aria-hidden="true" />
          {MACHINE_STATE_WORDS[state]}{' '}
          <span className="numeric">{countOf(machines, state).toLocaleString('en')}</span>
        </Button>
      ))}
      {choice.wave > 0 && <span className="soft">wave {choice.wave}</span>}
      {choice.errorCode !== '' && <code>{choice.errorCode}</code>}
    </div>
  );
}

function StepStrip({
  rollout,
  machines,
  choice,
  onChoice,
}: ChoiceProps & { readonly machines: readonly GridMachine[] }) {
  const steps = rollout.spec?.steps ?? [];
  const counts = useMemo(() => countsBySteps(machines, steps.length), [machines, steps.length]);
  return (
    <ol className="ro-steps" aria-label="Machines by step">
      {steps.map((step, index) => {
        const { running, failed, passed } = counts[index] ?? { running: 0, failed: 0, passed: 0 };
        const number = index + 1;
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: steps have no other identity than their position
          <li key={index}>
            <button
              type="button"
              className={`ro-step ${failed > 0 ? 'tone-red' : running > 0 ? 'tone-blue' : 'tone-gray'}`}
              aria-pressed={choice.step === number}
              onClick={() => onChoice({ ...ALL_MACHINES, step: choice.step === number ? 0 : number })}
            >
              <strong>
                {number} {verbOf(step)}
              </strong>
              <span className="numeric">
                {running.toLocaleString('en')} running · {passed.toLocaleString('en')} done
                {failed > 0 && <span className="fault"> · {failed.toLocaleString('en')} failed</span>}
              </span>
            </button>
          </li>
        );
      })}
    </ol>
  );
}

interface SelectionBarProps {
  readonly shown: number;
  readonly total: number;
  readonly selected: readonly GridMachine[];
  /** Null: all are shown. */
  readonly onShowAll: (() => void) | null;
  readonly onClear: () => void;
  readonly whyNot: WhyNot;
  readonly onAct: (asked: AskedAction) => void;
}

function SelectionBar({ shown, total, selected, onShowAll, onClear, whyNot, onAct }: SelectionBarProps) {
  const failed = selected.filter(({ state }) => state === 'failed').map(({ machineId }) => machineId);
  const skippable = selected.filter(canSkip).map(({ machineId }) => machineId);
  return (
    <div className="ro-selection">
      <span role="status" className="numeric">
        {selected.length > 0
          ? `${countText(selected.length)} selected`
          : shown === total
            ? countText(total)
            : `${shown.toLocaleString('en')} of ${countText(total)}`}
      </span>
      {onShowAll && (
        <Button kind="quiet" onClick={onShowAll}>
          Show all
        </Button>
      )}
      {selected.length > 0 && (
        <Button kind="quiet" onClick={onClear}>
          Clear selection
        </Button>
      )}
      <span className="gap" />
      <Button
        disabledBecause={
          whyNot('retry') || (failed.length === 0 ? 'Select machines that failed, in the table.' : '')
        }
        onClick={() => onAct({ action: 'retry', errorCode: '', machineIds: failed })}
      >
        Retry selected
      </Button>
      <Button
        disabledBecause={
          whyNot('skip') ||
          (skippable.length === 0 ? 'Select machines that are pending or have failed, in the table.' : '')
        }
        onClick={() => onAct({ action: 'skip', machineIds: skippable })}
      >
        Skip selected
      </Button>
    </div>
  );
}
