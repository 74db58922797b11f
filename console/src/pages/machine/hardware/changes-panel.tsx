import { Link } from 'wouter';
import { operationHref } from '../../../pages.ts';
import { Empty, Failed, Loading } from '../../../ui/blank.tsx';
import { shortId } from '../../../ui/copyable-id.tsx';
import { LoadMore } from '../../../ui/load-more.tsx';
import { Panel } from '../../../ui/panel.tsx';
import { Age } from '../../../ui/time.tsx';
import { useHardwareChanges } from './use-hardware.ts';

/** The versions of the hardware: what changed, when, and found by whom. */
export function ChangesPanel({ machineId }: { machineId: string }) {
  const list = useHardwareChanges(machineId);
  const changes = list.data?.pages.flatMap((page) => page.changes) ?? [];
  return (
    <Panel title="Changes of hardware" padding="none">
      {list.isPending && <Loading />}
      {list.isError && !list.data && (
        <Failed what="Failed to load the changes" error={list.error} onRetry={() => void list.refetch()} />
      )}
      {list.data && changes.length === 0 && <Empty title="No reports yet" />}
      {changes.length > 0 && (
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Found</th>
              <th scope="col">Source</th>
              <th scope="col">Version</th>
              <th scope="col">Change</th>
              <th scope="col">Found by</th>
            </tr>
          </thead>
          <tbody>
            {changes.map(({ source, version, foundAt, foundBy, operationId, changes: lines }) => (
              <tr key={`${source} ${version}`}>
                <td>
                  <Age at={foundAt} />
                </td>
                <td>{source}</td>
                <td className="number">{version}</td>
                <td className="comment">{lines.length === 0 ? 'first report' : lines.join('; ')}</td>
                <td>
                  {foundBy}{' '}
                  {operationId !== '' && (
                    <Link
                      className="operation-link mono"
                      href={operationHref(operationId)}
                      title={operationId}
                    >
                      {shortId(operationId)}
                    </Link>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <LoadMore list={list} />
    </Panel>
  );
}
