/** The heading of a group in the table: it collapses the group, and selects all of its machines. */
import { useMemo } from 'react';
import { Icon } from '../../ui/icon.tsx';
import type { SelectedIds } from './selection.ts';
import type { PlacedGroup } from './table-layout.ts';
import { isWhole, type MachineList } from './use-machine-list.ts';

export interface GroupActions {
  readonly onToggle: (group: PlacedGroup) => void;
  readonly onSelect: (group: PlacedGroup) => void;
}

export interface GroupRowProps extends GroupActions {
  readonly group: PlacedGroup;
  readonly list: MachineList;
  readonly selected: SelectedIds;
  readonly marked: boolean;
  readonly columns: number;
}

export function GroupRow({ group, list, selected, marked, columns, onToggle, onSelect }: GroupRowProps) {
  const { value, machines, place, isCollapsed } = group;
  const count = useMemo(() => selectedIn(group, list, selected), [group, list, selected]);
  const name = value === null ? 'Other values' : value || 'none';
  return (
    <tr
      data-place={place}
      aria-rowindex={place + 2}
      aria-current={marked || undefined}
      className={marked ? 'group-row marked' : 'group-row'}
    >
      <td className="tick">
        <input
          type="checkbox"
          aria-label={`Select all of ${name}`}
          disabled={!isWhole(list)}
          checked={count === machines}
          ref={(box) => {
            if (box) box.indeterminate = count > 0 && count < machines;
          }}
          onChange={() => onSelect(group)}
        />
      </td>
      <td colSpan={columns}>
        <button
          type="button"
          className="group-heading"
          aria-expanded={!isCollapsed}
          onClick={() => onToggle(group)}
        >
          <Icon name={isCollapsed ? 'right' : 'down'} size={12} />
          <span className={value ? 'group-name' : 'group-name soft'}>{name}</span>
          <span className="numeric soft">{machines.toLocaleString('en')}</span>
        </button>
      </td>
    </tr>
  );
}

export function selectedIn({ from, to }: PlacedGroup, { ids }: MachineList, selected: SelectedIds): number {
  if (selected.size === 0) return 0;
  if (selected.size === ids.length) return to - from;
  let count = 0;
  for (let index = from; index < to; index += 1) if (selected.has(ids[index] ?? '')) count += 1;
  return count;
}
