/** All machines: a filter, facets, a table for up to a hundred thousand rows, and bulk actions. */
import { lazy, Suspense, useCallback, useEffect, useMemo, useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { MACHINE_FILTER } from '../../../../src/domain/filter/machine-filter.ts';
import { failureOf } from '../../api/failure.ts';
import { useOfferActions } from '../../keyboard/page-actions.tsx';
import { useKey } from '../../keyboard/shortcuts.tsx';
import '../../styles/machines.css';
import { type Known, mostFrequent } from '../../../../src/client/filter-suggestions.ts';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { PageTitle } from '../../ui/page-title.tsx';
import { RegisterButton } from '../register/register-button.tsx';
import { ALL_OF_THE_FLEET, type Target } from '../rollout-draft/draft.ts';
import { type Verb, verbInfo } from '../rollout-draft/step-verbs.ts';
import { ColumnChoice } from './column-choice.tsx';
import { GROUP_FIELDS, groupTitle, isGroupField } from './facet-filter.ts';
import { Facets } from './facets.tsx';
import { type FilterFault, filterFault, withPlainWords } from './filter-text.ts';
import { GroupStrip } from './group-strip.tsx';
import { BULK_VERBS, BulkButtons, ListLine, SelectionLine, useWhyNotBulk } from './list-bar.tsx';
import type { ListPosition } from './list-position.ts';
import { MachineTable } from './machine-table.tsx';
import { SavedViews } from './saved-views.tsx';
import { SearchBox } from './search-box.tsx';
import {
  everything,
  inOrder,
  kept,
  NOTHING,
  type Selection,
  toggled,
  withPart,
  withRange,
} from './selection.ts';
import { storedMachine } from './stored-machine.ts';
import type { PlacedGroup } from './table-layout.ts';
import { isWhole, type MachineList, useMachineList } from './use-machine-list.ts';
import { type Rows, useMachineRows } from './use-machine-rows.ts';
import { nextSort, readView, type View, writeView } from './view.ts';

const RolloutDrawer = lazy(() =>
  import('../rollout-draft/rollout-drawer.tsx').then((m) => ({ default: m.RolloutDrawer })),
);

/** The position in the list, restored when the user comes back from a machine's page. */
const lastPosition: { current: ListPosition | null } = { current: null };
const wasLeft = (key: string) => lastPosition.current?.list.key === key && lastPosition.current.row > 0;
/** The selection, too. What is not in the list any more is left out of it. */
const lastSelection: { current: Selection } = { current: NOTHING };

export function MachinesPage() {
  const [params, setParams] = useSearchParams();
  const view = useMemo(() => readView(params), [params]);
  const show = useCallback(
    (change: Partial<View>) =>
      setParams((current) => writeView(current, { ...readView(current), ...change })),
    [setParams],
  );
  const text = withPlainWords(view.filter);
  const fault = useMemo(() => filterFault(text), [text]);
  const filter = fault ? null : text;
  const group = isGroupField(view.group) ? view.group : '';
  const order = { ...view.sort, group };
  const { list, isLoading, failure, changed, refresh } = useMachineList(filter, order, wasLeft);
  const rows = useMachineRows();
  const { selection, ...select } = useSelection(list);
  const [acting, setActing] = useState<Acting | null>(null);
  const act = (verbs: readonly Verb[]) => {
    if (list) setActing({ verbs, targets: targetsOf(selection, list, text) });
  };
  const whyNot = useWhyNotBulk(selection.ids.size);
  useListActions({ whyNot, act, refresh });
  const known = useCallback((): Known => knownOf(rows), [rows]);
  return (
    <>
      <PageTitle title="Machines" actions={<BulkButtons whyNot={whyNot} onAct={act} />}>
        <RegisterButton />
      </PageTitle>
      <div className="fills machines">
        <SearchBox
          value={text}
          fault={fault}
          known={known}
          onApply={(typed) => show({ filter: withPlainWords(typed) })}
        >
          <SavedViews />
          <GroupChoice value={view.group} rows={rows} onChange={(field) => show({ group: field })} />
          <Button
            onClick={() => show({ facets: view.facets === 'shown' ? 'hidden' : 'shown' })}
            pressed={view.facets === 'shown'}
          >
            Facets
          </Button>
          <ColumnChoice
            columns={view.columns}
            labelKeys={() => knownOf(rows).labelKeys}
            onColumns={(columns) => show({ columns })}
          />
        </SearchBox>
        <div className={view.facets === 'shown' ? 'machine-panes' : 'machine-panes alone'}>
          {view.facets === 'shown' && <Facets filter={filter} onFilter={(next) => show({ filter: next })} />}
          <section className="machine-list" aria-label="Machines" aria-busy={isLoading}>
            <SelectionLine
              total={list?.total ?? 0}
              selected={selection.ids.size}
              onSelectAll={select.all}
              onSelectNone={select.none}
            />
            {filter !== null && isGroupField(group) && (
              <GroupStrip field={group} filter={filter} onFilter={(next) => show({ filter: next })} />
            )}
            {fault && <InvalidFilter text={text} fault={fault} />}
            {!fault && !list && failure === null && <Loading lines={8} />}
            {!fault && !list && failure !== null && (
              <Failed what="Failed to load machines" error={failure} onRetry={refresh} />
            )}
            {!fault && list?.ids.length === 0 && (
              <NoMachines filter={text} onClear={() => show({ filter: '' })} />
            )}
            {!fault && list && list.ids.length > 0 && (
              <MachineTable
                list={list}
                rows={rows}
                group={group}
                columns={view.columns}
                sort={view.sort}
                onSort={(field) => show({ sort: nextSort(view.sort, field) })}
                selected={selection.ids}
                onSelect={select.one}
                onSelectPart={select.part}
                onSelectAll={selection.ids.size === list.ids.length ? select.none : select.all}
                position={lastPosition}
              />
            )}
            <ListLine
              total={list?.total ?? null}
              changed={changed}
              note={noteOf(isLoading, list ? failure : null)}
              onRefresh={refresh}
            />
          </section>
        </div>
      </div>
      {acting && (
        <Suspense fallback={null}>
          <RolloutDrawer {...acting} onClose={() => setActing(null)} />
        </Suspense>
      )}
    </>
  );
}

interface ListActions {
  readonly whyNot: (verb: Verb) => string;
  readonly act: (verbs: readonly Verb[]) => void;
  readonly refresh: () => void;
}

/** In the palette, and by key. */
function useListActions({ whyNot, act, refresh }: ListActions): void {
  useKey('r', 'Refresh the list', refresh);
  useOfferActions([
    ...BULK_VERBS.map((verb) => ({
      text: `${verbInfo(verb).title}: the selected machines`,
      disabledBecause: whyNot(verb),
      run: () => act([verb]),
    })),
    { text: 'Refresh the list of machines', disabledBecause: '', run: refresh },
  ]);
}

/** The rollout that is being written. */
interface Acting {
  readonly verbs: readonly Verb[];
  readonly targets: readonly [Target, ...Target[]];
}

/** All that match is a rollout by filter; a part of them is one by id. */
function targetsOf(selection: Selection, list: MachineList, filter: string): Acting['targets'] {
  const selected: Target = { kind: 'ids', machineIds: inOrder(selection, list) };
  if (selected.machineIds.length < list.total) return [selected];
  return [{ kind: 'filter', filter: filter || ALL_OF_THE_FLEET, follow: false }, selected];
}

function useSelection(list: MachineList | null) {
  const [chosen, setSelection] = useState(() => lastSelection.current);
  useEffect(() => {
    if (list && isWhole(list)) setSelection((before) => kept(before, list));
  }, [list]);
  useEffect(() => {
    lastSelection.current = chosen;
  }, [chosen]);
  // Until the list is whole, what was selected before may not be in it.
  const selection = useMemo(() => (list ? kept(chosen, list) : NOTHING), [list, chosen]);
  const one = useCallback(
    (id: string, how: 'one' | 'range') =>
      setSelection((before) => (how === 'range' && list ? withRange(before, list, id) : toggled(before, id))),
    [list],
  );
  const part = useCallback(
    (range: PlacedGroup, to: 'in' | 'out') => {
      if (list && isWhole(list)) setSelection((before) => withPart(before, list, range, to));
    },
    [list],
  );
  const all = () => {
    if (list && isWhole(list)) setSelection(everything(list));
  };
  const none = () => setSelection(NOTHING);
  return { selection, one, part, all, none };
}

interface GroupChoiceProps {
  readonly value: string;
  /** The labels of the loaded machines are offered too. */
  readonly rows: Rows;
  readonly onChange: (field: string) => void;
}

function GroupChoice({ value, rows, onChange }: GroupChoiceProps) {
  const labels = knownOf(rows).labelKeys.map((key) => `labels.${key}` as const);
  const fields = [...new Set([...GROUP_FIELDS, ...labels, value])].filter(isGroupField);
  return (
    <select
      className="input"
      aria-label="Group by"
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      <option value="">No groups</option>
      {fields.map((field) => (
        <option key={field} value={field}>
          By {groupTitle(field)}
        </option>
      ))}
    </select>
  );
}

function noteOf(isLoading: boolean, failure: unknown): string {
  if (isLoading) return 'Loading…';
  return failure === null ? '' : `The list may be out of date: ${failureOf(failure).message}`;
}

/** Labels and values of the loaded machines, for suggestions. */
function knownOf(rows: Rows): Known {
  const machines = rows.known();
  return {
    now: Date.now(),
    labelKeys: mostFrequent(machines.flatMap(({ labels }) => Object.keys(labels))),
    values: (field) => {
      if (field.startsWith('labels.')) {
        const key = field.slice('labels.'.length);
        return mostFrequent(
          machines.map(({ labels }) => (Object.hasOwn(labels, key) ? (labels[key] ?? '') : '')),
        );
      }
      const known = Object.hasOwn(MACHINE_FILTER, field) ? MACHINE_FILTER[field] : undefined;
      if (known?.kind !== 'string' && known?.kind !== 'enum') return [];
      return mostFrequent(machines.map((machine) => known.get(storedMachine(machine)) ?? ''));
    },
  };
}

function InvalidFilter({ text, fault }: { text: string; fault: FilterFault }) {
  const { message, offset } = fault;
  return (
    <div className="blank" role="alert">
      <strong>Invalid filter</strong>
      <span>{message}</span>
      <code className="faulty">
        {text.slice(0, offset)}
        <mark>{text.slice(offset, offset + 1) || ' '}</mark>
        {text.slice(offset + 1)}
      </code>
      <span>
        Example: phase=READY AND location.rack=r42. The filter box suggests fields and values as you type.
      </span>
    </div>
  );
}

function NoMachines({ filter, onClear }: { filter: string; onClear: () => void }) {
  if (filter !== '')
    return (
      <Empty title="No results">
        <span>No machine matches the filter.</span>
        <Button onClick={onClear}>Clear filter</Button>
      </Empty>
    );
  return (
    <Empty title="No machines yet">
      <span>Register them, find them in a MAAS, boot them from the network, or try simulated ones.</span>
      <Link className="button primary" href="/start">
        Connect machines
      </Link>
    </Empty>
  );
}
