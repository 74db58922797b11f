/** The lines above and below the table: the selection, and whether the list is up to date. */
import { countText } from '../../count-text.ts';
import { METHODS, useForbidden } from '../../identity.tsx';
import type { MenuAction } from '../../ui/action-menu.tsx';
import { ActionRow } from '../../ui/action-row.tsx';
import { Button } from '../../ui/button.tsx';
import { type Verb, verbInfo } from '../rollout-draft/step-verbs.ts';

/** The verbs that have a button; every other one is a choice in the drawer that they open. */
export const BULK_VERBS = [
  'enter-maintenance',
  'exit-maintenance',
  'reboot',
  'reimage',
] as const satisfies readonly Verb[];

export interface BulkButtonsProps {
  readonly whyNot: (verb: Verb) => string;
  readonly onAct: (verbs: readonly Verb[]) => void;
}

/** Why no rollout of the verb can be started now; empty if one can. */
export function useWhyNotBulk(selected: number): (verb: Verb) => string {
  const forbidden = useForbidden();
  return (verb) =>
    forbidden('operator', METHODS.createRollout) ||
    forbidden('operator', [verbInfo(verb).method]) ||
    (selected === 0 ? 'Select machines first, with the checkboxes or the x key.' : '');
}

/** What often follows from the first is one rollout with both steps. */
const MAINTENANCE_AND_REIMAGE = ['enter-maintenance', 'reimage'] as const satisfies readonly Verb[];

export function BulkButtons({ whyNot, onAct }: BulkButtonsProps) {
  const verbs = BULK_VERBS.map((verb): MenuAction => {
    const { title, effect, destructive } = verbInfo(verb);
    return {
      key: verb,
      title,
      effect,
      isDangerous: destructive,
      disabledBecause: whyNot(verb),
      run: () => onAct([verb]),
    };
  });
  const both: MenuAction = {
    key: 'both',
    title: 'Maintenance and reimage',
    effect: 'One rollout with both steps',
    isDangerous: true,
    disabledBecause: MAINTENANCE_AND_REIMAGE.map(whyNot).find((reason) => reason !== '') ?? '',
    run: () => onAct(MAINTENANCE_AND_REIMAGE),
  };
  return <ActionRow actions={[...verbs, both]} />;
}

export interface SelectionLineProps {
  readonly total: number;
  readonly selected: number;
  readonly onSelectAll: () => void;
  readonly onSelectNone: () => void;
}

export function SelectionLine({ total, selected, onSelectAll, onSelectNone }: SelectionLineProps) {
  return (
    <div className="list-line">
      <span role="status" className={selected === 0 ? 'soft' : 'numeric'}>
        {selected === 0 ? 'None selected' : `${selected.toLocaleString('en')} selected`}
      </span>
      {selected > 0 && selected < total && (
        <Button kind="quiet" onClick={onSelectAll}>
          {`Select all ${total.toLocaleString('en')} matching`}
        </Button>
      )}
      {selected > 0 && (
        <Button kind="quiet" onClick={onSelectNone} label="Clear selection">
          Clear
        </Button>
      )}
    </div>
  );
}

export interface ListLineProps {
  /** Null: there is no list. */
  readonly total: number | null;
  readonly changed: number;
  /** Why the list may be out of date; shown instead of the number of changes. */
  readonly note: string;
  readonly onRefresh: () => void;
}

export function ListLine({ total, changed, note, onRefresh }: ListLineProps) {
  return (
    <div className="list-line foot">
      <span role="status" className="numeric">
        {total === null ? '' : countText(total)}
      </span>
      <span role="status" className="soft note">
        {note}
      </span>
      {note === '' && changed > 0 && (
        <Button kind="quiet" onClick={onRefresh}>
          {`${changed.toLocaleString('en')} changed. Refresh`} <kbd>r</kbd>
        </Button>
      )}
    </div>
  );
}
