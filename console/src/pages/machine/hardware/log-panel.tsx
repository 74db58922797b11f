import { Empty, Failed, Loading } from '../../../ui/blank.tsx';
import { LoadMore } from '../../../ui/load-more.tsx';
import { Panel } from '../../../ui/panel.tsx';
import { Age } from '../../../ui/time.tsx';
import { healthTone } from './health-tone.ts';
import { useHardwareLog } from './use-hardware.ts';

/** The log that the BMC keeps, also what was cleared since. */
export function LogPanel({ machineId }: { machineId: string }) {
  const list = useHardwareLog(machineId);
  const entries = list.data?.pages.flatMap((page) => page.entries) ?? [];
  return (
    <Panel title="Hardware log" padding="none">
      {list.isPending && <Loading />}
      {list.isError && !list.data && (
        <Failed what="Failed to load the log" error={list.error} onRetry={() => void list.refetch()} />
      )}
      {list.data && entries.length === 0 && <Empty title="No entries" />}
      {entries.length > 0 && (
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col">Severity</th>
              <th scope="col">About</th>
              <th scope="col">Entry</th>
            </tr>
          </thead>
          <tbody>
            {entries.map(({ entryId, at, foundAt, severity, category, message }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: ids start again when a log is cleared
              <tr key={`${entryId} ${index}`}>
                <td>
                  <Age at={at ?? foundAt} />
                </td>
                <td>
                  <span className={`badge tone-${healthTone(severity)}`}>{severity}</span>
                </td>
                <td>{category.replaceAll('_', ' ')}</td>
                <td className="comment">{message}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <LoadMore list={list} />
    </Panel>
  );
}
