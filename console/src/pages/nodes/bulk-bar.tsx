import { METHODS, useForbidden } from '../../identity.tsx';
import { Button } from '../../ui/button.tsx';
import { BULK_CHANGES, type BulkChange } from './bulk-dialog.tsx';

export interface BulkBarProps {
  readonly count: number;
  readonly onClear: () => void;
  readonly onChange: (change: BulkChange) => void;
}

/** The bulk actions on the selected nodes. */
export function BulkBar({ count, onClear, onChange }: BulkBarProps) {
  const forbidden = useForbidden();
  const disabledBecause =
    forbidden('operator', METHODS.changeNodes) || (count === 0 ? 'Select nodes first.' : '');
  return (
    <div className="list-line">
      <span role="status" className={count === 0 ? 'soft' : 'numeric'}>
        {count === 0 ? 'None selected' : `${count} selected`}
      </span>
      {(Object.keys(BULK_CHANGES) as BulkChange[]).map((change) => (
        <Button key={change} disabledBecause={disabledBecause} onClick={() => onChange(change)}>
          {BULK_CHANGES[change]}
        </Button>
      ))}
      {count > 0 && (
        <Button kind="quiet" onClick={onClear} label="Clear selection">
          Clear
        </Button>
      )}
    </div>
  );
}
