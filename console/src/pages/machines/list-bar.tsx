/** The lines above and below the table: the selection, and whether the list is up to date. */
import { METHODS, useForbidden } from '../../identity.tsx';
import { Button } from '../../ui/button.tsx';
import { BULK_ACTION_NAMES, type BulkActionName, bulkAction } from './bulk-actions.ts';

export function countText(count: number, noun = 'machine'): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}

export interface BulkButtonsProps {
  readonly selected: number;
  readonly onAct: (name: BulkActionName) => void;
}

/** Why no bulk action is available now; empty if one is. */
export function useWhyNoAction(selected: number): string {
  const forbidden = useForbidden();
  return (
    forbidden('operator', METHODS.start) ||
    (selected === 0 ? 'Select machines first, with the checkboxes or the x key.' : '')
  );
}

export function BulkButtons({ selected, onAct }: BulkButtonsProps) {
  const disabledBecause = useWhyNoAction(selected);
  return BULK_ACTION_NAMES.map((name) => {
    const { title, confirm } = bulkAction(name);
    return (
      <Button
        key={name}
        kind={confirm === 'typed' ? 'danger' : 'plain'}
        disabledBecause={disabledBecause}
        onClick={() => onAct(name)}
      >
        {title}
      </Button>
    );
  });
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
