/** Elevations of racks, coloured by headline: where the trouble is, and a way to select what stands together. */
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useEffect, useState } from 'react';
import { Link } from 'wouter';
import { messageHeadline } from '../../../../src/client/message-headline.ts';
import { HEADLINE_TONES } from '../../../../src/domain/machine/headline.ts';
import { fleet } from '../../api/clients.ts';
import { countText } from '../../count-text.ts';
import type { MachineView } from '../../machine-view.ts';
import { machineHref, quoted } from '../../pages.ts';
import '../../styles/racks.css';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { PageTitle } from '../../ui/page-title.tsx';
import { useNow } from '../../ui/time.tsx';
import { useUrlParam } from '../../ui/use-url-param.ts';
import { BulkButtons, useWhyNotBulk } from '../machines/list-bar.tsx';
import { MACHINES_AT_ONCE, readIndex, readMachines } from '../machines/read-machines.ts';
import type { Verb } from '../rollout-draft/step-verbs.ts';
import { type Placed, type Rack, racksOf } from './elevation.ts';

const RolloutDrawer = lazy(() =>
  import('../rollout-draft/rollout-drawer.tsx').then((m) => ({ default: m.RolloutDrawer })),
);

/** More are more than a screen of racks shows; a site or a row narrows them down. */
const MOST = 4_000;

interface RackMachine extends Placed {
  readonly view: MachineView;
}

export function RacksPage() {
  const [site, setSite] = useUrlParam('site');
  const [row, setRow] = useUrlParam('row');
  const [selected, setSelected] = useSelected();
  const [verbs, act] = useState<readonly Verb[] | null>(null);
  const places = useQuery({ queryKey: ['fleet-wide', 'places', site], queryFn: () => readPlaces(site) });
  const shownSite = site || (places.data?.sites.length === 1 ? (places.data.sites[0] ?? '') : site);
  const machines = useQuery({
    queryKey: ['fleet-wide', 'racks', shownSite, row],
    queryFn: ({ signal }) => readRacks(shownSite, row, signal),
  });
  const racks = racksOf(machines.data?.machines ?? []);
  const toggle = (ids: readonly string[]) =>
    setSelected((before) => {
      const isIn = ids.every((id) => before.has(id));
      return new Set(isIn ? [...before].filter((id) => !ids.includes(id)) : [...before, ...ids]);
    });
  const whyNot = useWhyNotBulk(selected.size);
  return (
    <>
      <PageTitle title="Racks" actions={<BulkButtons whyNot={whyNot} onAct={act} />} />
      <div className="row rack-bar">
        <Place title="Site" value={site} values={places.data?.sites ?? []} onChange={setSite} />
        <Place title="Row" value={row} values={places.data?.rows ?? []} onChange={setRow} />
        <Legend />
        <span className="spacer" />
        <span role="status" className="numeric">
          {selected.size === 0 ? '' : `${selected.size.toLocaleString('en')} selected`}
        </span>
        {selected.size > 0 && (
          <Button kind="quiet" onClick={() => setSelected(new Set())} label="Clear selection">
            Clear
          </Button>
        )}
      </div>
      {machines.isPending && <Loading lines={8} />}
      {machines.isError && !machines.data && (
        <Failed what="Failed to load racks" error={machines.error} onRetry={() => void machines.refetch()} />
      )}
      {machines.data && machines.data.left > 0 && (
        <p className="soft">{countText(machines.data.left)} more are not shown. Choose a site or a row.</p>
      )}
      {machines.isSuccess && racks.length === 0 && (
        <Empty title="No machine has a rack yet">
          <span>Set the location of machines: site, row, rack and unit, on the page of each machine.</span>
          <Link className="button" href="/machines">
            Open machines
          </Link>
        </Empty>
      )}
      <div className="racks takes-width">
        {racks.map((rack) => (
          <RackView
            key={`${rack.site} ${rack.row} ${rack.rack}`}
            rack={rack}
            selected={selected}
            onToggle={toggle}
          />
        ))}
      </div>
      {verbs && (
        <Suspense fallback={null}>
          <RolloutDrawer
            verbs={verbs}
            targets={[{ kind: 'ids', machineIds: [...selected] }]}
            onClose={() => act(null)}
          />
        </Suspense>
      )}
    </>
  );
}

/** What was selected is still there when the user comes back from a machine's page. */
const lastSelected: { current: ReadonlySet<string> } = { current: new Set() };

function useSelected() {
  const [selected, setSelected] = useState(() => lastSelected.current);
  useEffect(() => {
    lastSelected.current = selected;
  }, [selected]);
  return [selected, setSelected] as const;
}

async function readPlaces(site: string): Promise<{ sites: string[]; rows: string[] }> {
  const all = await fleet.countMachines({ facets: ['location.site'] });
  const rows = await fleet.countMachines({
    filter: site === '' ? '' : `location.site = ${quoted(site)}`,
    facets: ['location.row'],
  });
  const names = ({ facets }: typeof all) =>
    (facets[0]?.values ?? [])
      .map(({ value }) => value)
      .filter((value) => value !== '')
      .sort();
  return { sites: names(all), rows: names(rows) };
}

async function readRacks(site: string, row: string, signal: AbortSignal) {
  const terms = [
    'location.rack = *',
    ...(site === '' ? [] : [`location.site = ${quoted(site)}`]),
    ...(row === '' ? [] : [`location.row = ${quoted(row)}`]),
  ];
  const { ids, total } = await readIndex(
    { filter: terms.join(' AND '), field: 'machine_id', direction: 'ascending', group: '', limit: MOST },
    signal,
  );
  const machines: RackMachine[] = [];
  for (let from = 0; from < ids.length; from += MACHINES_AT_ONCE) {
    const views = await readMachines(ids.slice(from, from + MACHINES_AT_ONCE), signal);
    for (const view of views) machines.push({ machineId: view.machineId, location: placeOf(view), view });
  }
  return { machines, left: total - ids.length };
}

function placeOf({ message }: MachineView): Placed['location'] {
  const { site = '', row = '', rack = '', unit = '' } = message.spec?.location ?? {};
  return { site, row, rack, unit };
}

interface PlaceProps {
  readonly title: string;
  readonly value: string;
  readonly values: readonly string[];
  readonly onChange: (value: string) => void;
}

function Place({ title, value, values, onChange }: PlaceProps) {
  return (
    <label className="row">
      <span className="soft">{title}</span>
      <select className="input" value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="">all</option>
        {values.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
}

function Legend() {
  return (
    <ul className="rack-legend" aria-label="Colours">
      {Object.entries(HEADLINE_TONES).map(([state, { colour, meaning }]) => (
        <li key={state} className={`tone-${colour}`} title={meaning}>
          <span className="rack-swatch" />
          {state}
        </li>
      ))}
    </ul>
  );
}

interface RackViewProps {
  readonly rack: Rack<RackMachine>;
  readonly selected: ReadonlySet<string>;
  readonly onToggle: (ids: readonly string[]) => void;
}

function RackView({ rack, selected, onToggle }: RackViewProps) {
  const all = [...rack.slots.map(({ machine }) => machine), ...rack.others];
  const ids = all.map(({ machineId }) => machineId);
  return (
    <section className="rack" aria-label={`Rack ${rack.rack}`}>
      <button
        type="button"
        className="rack-head"
        aria-pressed={ids.every((id) => selected.has(id))}
        onClick={() => onToggle(ids)}
        title={`Select the ${countText(ids.length)} of ${rack.rack}`}
      >
        <strong>{rack.rack}</strong>
        <span className="soft">{[rack.site, rack.row].filter(Boolean).join(' · ')}</span>
      </button>
      <ol className="rack-units" style={{ gridTemplateRows: `repeat(${rack.height}, var(--unit))` }}>
        {rack.slots.map(({ from, to, machine }) => (
          <li key={machine.machineId} style={{ gridRow: `${rack.height - to + 1} / span ${to - from + 1}` }}>
            <Unit
              machine={machine}
              label={`U${from}`}
              isSelected={selected.has(machine.machineId)}
              onToggle={onToggle}
            />
          </li>
        ))}
      </ol>
      {rack.others.length > 0 && (
        <ul className="rack-others">
          {rack.others.map((machine) => (
            <li key={machine.machineId}>
              <Unit
                machine={machine}
                label="–"
                isSelected={selected.has(machine.machineId)}
                onToggle={onToggle}
              />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

interface UnitProps {
  readonly machine: RackMachine;
  readonly label: string;
  readonly isSelected: boolean;
  readonly onToggle: (ids: readonly string[]) => void;
}

function Unit({ machine: { machineId, view }, label, isSelected, onToggle }: UnitProps) {
  const { text, colour } = messageHeadline(view.message, useNow());
  return (
    <div className={`rack-unit tone-${colour}`} data-selected={isSelected || undefined}>
      <button
        type="button"
        aria-pressed={isSelected}
        title={`${machineId}: ${text}`}
        onClick={() => onToggle([machineId])}
      >
        <span className="rack-place numeric">{label}</span> <span className="rack-name">{machineId}</span>
        <span className="visually-hidden">: {text}</span>
      </button>
      <Link href={machineHref(machineId)} aria-label={`Open ${machineId}`}>
        <Icon name="right" size={10} />
      </Link>
    </div>
  );
}
