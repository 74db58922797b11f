/** What the rollout would do now, as the server says: nothing of it is computed here. */
import { Link } from 'wouter';
import type {
  Estimate,
  Ineligible,
  PreviewLimit,
  PreviewWave,
  RolloutPreview,
} from '../../../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { countText } from '../../count-text.ts';
import { machineHref } from '../../pages.ts';
import { Failed, Loading } from '../../ui/blank.tsx';
import { Clock, durationText, msOf, TimeLeft } from '../../ui/time.tsx';
import { UseBar } from '../budgets/use-bar.tsx';
import { limitTitle } from '../rollout/limits-panel.tsx';
import type { PreviewState } from './use-preview.ts';

export interface PreviewPaneProps {
  readonly state: PreviewState;
  /** What is missing in the draft; empty: it can be previewed. */
  readonly fault: string;
}

export function PreviewPane({ state, fault }: PreviewPaneProps) {
  const { preview, isCurrent, failure, again } = state;
  return (
    <section className="draft-preview" aria-label="Preview" aria-busy={fault === '' && !isCurrent}>
      <h3>Preview</h3>
      <div role="status">
        {fault !== '' && <p className="soft">{fault}</p>}
        {fault === '' && failure === null && preview && (
          <p className="draft-total">
            <strong className="numeric">{countText(preview.eligible)}</strong>
            {preview.eligible === preview.total ? '' : ` of ${preview.total.toLocaleString('en')}`} in{' '}
            {countText(preview.waves.length, 'wave')}
            {!isCurrent && <span className="soft"> · updating…</span>}
          </p>
        )}
      </div>
      {fault === '' && failure !== null && (
        <Failed what="This rollout cannot be previewed" error={failure} onRetry={again} />
      )}
      {fault === '' && failure === null && !preview && <Loading lines={5} />}
      {fault === '' && failure === null && preview && <PreviewShown preview={preview} />}
    </section>
  );
}

function PreviewShown({ preview }: { preview: RolloutPreview }) {
  const { refusals, warnings, waves, ineligible, limits, estimate, startsAt } = preview;
  return (
    <div className="draft-preview-parts">
      <Notes tone="red" title="It would be refused" notes={refusals} />
      <Notes tone="yellow" title="Note" notes={warnings} />
      <dl className="facts">
        <div className="pair">
          <dt>Starts</dt>
          <dd>{isLater(startsAt) ? <Later at={startsAt} /> : 'now'}</dd>
        </div>
        <div className="pair">
          <dt>Takes</dt>
          <dd>
            {estimate ? (
              <EstimateText estimate={estimate} />
            ) : (
              'unknown: there is no history of such operations'
            )}
          </dd>
        </div>
      </dl>
      <Waves waves={waves} />
      <IneligibleGroups groups={ineligible} />
      <Limits limits={limits} />
    </div>
  );
}

function isLater(startsAt: RolloutPreview['startsAt']): boolean {
  return (msOf(startsAt) ?? 0) > Date.now() + 1_000;
}

function Later({ at }: { at: RolloutPreview['startsAt'] }) {
  return (
    <>
      in <TimeLeft until={at} />{' '}
      <span className="soft">
        (<Clock at={at} />)
      </span>
    </>
  );
}

function EstimateText({
  estimate: { p50Seconds, p90Seconds, samples, unknownSteps, unknownGates },
}: {
  estimate: Estimate;
}) {
  const without = [...unknownSteps, ...(unknownGates > 0 ? ['approvals'] : [])];
  return (
    <>
      about <strong>{durationText(Number(p50Seconds) * 1000)}</strong>, in 9 of 10 cases less than{' '}
      {durationText(Number(p90Seconds) * 1000)}{' '}
      <span className="soft">
        ({countText(samples, 'operation')} of the last 90 days
        {without.length > 0 && `; no history of ${without.join(', ')}`})
      </span>
    </>
  );
}

function Notes({ tone, title, notes }: { tone: 'red' | 'yellow'; title: string; notes: readonly string[] }) {
  if (notes.length === 0) return null;
  return (
    <div className={`draft-notes tone-${tone}`}>
      <strong>{title}</strong>
      <ul>
        {notes.map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
    </div>
  );
}

const EXAMPLES = 6;

function Examples({ ids, total }: { ids: readonly string[]; total: number }) {
  const shown = ids.slice(0, EXAMPLES);
  return (
    <span className="mono wraps">
      {shown.map((id, index) => (
        <span key={id}>
          {index > 0 && ', '}
          <Link href={machineHref(id)}>{id}</Link>
        </span>
      ))}
      {total > shown.length && ` and ${(total - shown.length).toLocaleString('en')} more`}
    </span>
  );
}

const MOST_WAVES = 12;

function Waves({ waves }: { waves: readonly PreviewWave[] }) {
  return (
    <table className="table draft-waves">
      <caption className="visually-hidden">Machines by wave</caption>
      <thead>
        <tr>
          <th>Wave</th>
          <th className="number">Machines</th>
          <th>First machines</th>
          <th>Gate</th>
        </tr>
      </thead>
      <tbody>
        {waves.slice(0, MOST_WAVES).map(({ number, name, machines, machineIds, gate, approvalRule }) => (
          <tr key={number}>
            <td>
              {number} <span className="soft wraps">{name}</span>
            </td>
            <td className="number">{machines.toLocaleString('en')}</td>
            <td>
              <Examples ids={machineIds} total={machines} />
            </td>
            <td>
              {gate || 'automatic'}
              {approvalRule !== '' && <div className="soft">rule {approvalRule}</div>}
            </td>
          </tr>
        ))}
        {waves.length > MOST_WAVES && (
          <tr>
            <td colSpan={4} className="soft">
              and {waves.length - MOST_WAVES} more waves
            </td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

function IneligibleGroups({ groups }: { groups: readonly Ineligible[] }) {
  if (groups.length === 0) return null;
  return (
    <div>
      <h3>Not eligible, left out</h3>
      <ul className="draft-groups">
        {groups.map(({ errorCode, message, machines, machineIds }) => (
          <li key={`${errorCode} ${message}`}>
            <strong className="numeric">{countText(machines)}</strong>: {message} <code>{errorCode}</code>
            <div>
              <Examples ids={machineIds} total={machines} />
            </div>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Limits({ limits }: { limits: readonly PreviewLimit[] }) {
  if (limits.length === 0) return null;
  return (
    <div>
      <h3>Limits and budgets that bind</h3>
      <ul className="draft-groups">
        {limits.map(({ use, occupiedBy, message }) =>
          use ? (
            <li key={`${use.kind} ${use.name} ${use.group}`}>
              <UseBar title={limitTitle(use)} group={use.group} used={use.used} limit={use.limit} />
              <div>{message}</div>
              {occupiedBy.length > 0 && (
                <div className="soft">
                  Occupied by <Examples ids={occupiedBy} total={occupiedBy.length} />
                </div>
              )}
            </li>
          ) : null,
        )}
      </ul>
    </div>
  );
}
