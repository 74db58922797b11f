/** Selects the columns of the table, including one column per label of the loaded machines. */
import { useId, useRef, useState } from 'react';
import { COLUMN_IDS, columnFacts, DEFAULT_COLUMNS, FIXED_COLUMN } from './view.ts';

export interface ColumnChoiceProps {
  readonly columns: readonly string[];
  readonly labelKeys: () => readonly string[];
  readonly onColumns: (columns: readonly string[]) => void;
}

export function ColumnChoice({ columns, labelKeys, onColumns }: ColumnChoiceProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const [at, setAt] = useState({ top: 0, right: 0 });
  const [keys, setKeys] = useState<readonly string[]>([]);
  const open = () => {
    const box = button.current?.getBoundingClientRect();
    if (box) setAt({ top: box.bottom + 4, right: window.innerWidth - box.right });
    setKeys(labelKeys());
  };
  const ids = [...new Set([...COLUMN_IDS, ...columns, ...keys.map((key) => `labels.${key}`)])];
  const toggle = (column: string) => {
    const chosen = new Set(columns);
    if (!chosen.delete(column)) chosen.add(column);
    onColumns(ids.filter((candidate) => chosen.has(candidate)));
  };
  return (
    <>
      <button ref={button} type="button" className="button" popoverTarget={id}>
        Columns
      </button>
      <fieldset
        id={id}
        popover="auto"
        className="column-choice"
        aria-label="Columns"
        style={{ top: at.top, right: at.right }}
        onBeforeToggle={open}
      >
        {ids
          .filter((column) => column !== FIXED_COLUMN)
          .map((column) => (
            <label key={column}>
              <input type="checkbox" checked={columns.includes(column)} onChange={() => toggle(column)} />
              {columnFacts(column).title}
              {!Object.hasOwn(TITLED, column) && <span className="soft">label</span>}
            </label>
          ))}
        <button type="button" className="button quiet" onClick={() => onColumns(DEFAULT_COLUMNS)}>
          Reset
        </button>
      </fieldset>
    </>
  );
}

const TITLED = Object.fromEntries(COLUMN_IDS.map((id) => [id, true]));
