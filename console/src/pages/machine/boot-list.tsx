import { useQuery } from '@tanstack/react-query';
import { bytesText } from '../../../../src/domain/agent/metric-text.ts';
import { Failed } from '../../ui/blank.tsx';
import { Age } from '../../ui/time.tsx';
import { type BootFetchBody, nodeBoots } from '../nodes/nodes.ts';

/** Fetches are not events, so the list is polled while a boot is expected. */
const WAITING_MS = 5_000;
const WAITING = ['pending', 'installing', 'deprovisioning', 'migrating'];

/** What the machine fetched while it booted, and why it was sent to boot from its disk. */
export function BootList({ machineId, install }: { machineId: string; install: string }) {
  const boots = useQuery({
    queryKey: ['machine', machineId, 'node-boots'],
    queryFn: () => nodeBoots(machineId),
    refetchInterval: WAITING.includes(install) ? WAITING_MS : false,
  });
  const { data } = boots;
  return (
    <section className="stack" aria-label="Boots">
      <h3>Boots</h3>
      {boots.isError && !data && (
        <Failed what="Failed to load boots" error={boots.error} onRetry={() => void boots.refetch()} />
      )}
      {data?.total === 0 && <p className="soft">No boots yet.</p>}
      <ol className="node-boots">
        {data?.data.map((fetch) => (
          <Fetch key={fetch.id} fetch={fetch} />
        ))}
      </ol>
      {data && data.total > data.data.length && (
        <p className="soft">
          {data.data.length} of {data.total} shown. See all with <code>ingot node boots {machineId}</code>
        </p>
      )}
    </section>
  );
}

function Fetch({ fetch }: { fetch: BootFetchBody }) {
  const at = Date.parse(fetch.created_at);
  return (
    <li>
      <span className="soft numeric">
        <Age at={at} />
      </span>
      <span>
        {fetch.fetched}: {fetch.served}{' '}
        <span className="soft">
          {fetch.boot !== null && `boot ${fetch.boot}, `}
          {fetch.address}, {sentText(fetch)}
        </span>
        {fetch.reason && <div className="fault">{fetch.reason}</div>}
      </span>
    </li>
  );
}

function sentText({ bytes, total_bytes: total, complete }: BootFetchBody): string {
  if (complete) return bytesText(bytes);
  return total === null ? 'nothing sent' : `${bytesText(bytes)} of ${bytesText(total)}`;
}
