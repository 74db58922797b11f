import { Link } from 'wouter';
import { installLifecycle } from '../../../../src/domain/install/install-state.ts';
import { METHODS, useForbidden } from '../../identity.tsx';
import { machineHref } from '../../pages.ts';
import { StateBadge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { shortId, spokenId } from '../../ui/copyable-id.tsx';
import { ProgressBar } from '../../ui/progress-bar.tsx';
import { Age } from '../../ui/time.tsx';
import type { NodeBody } from './nodes.ts';

export interface NodeTableProps {
  readonly nodes: readonly NodeBody[];
  readonly marked: number;
  readonly shown: string;
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (ids: readonly string[], choice: 'select' | 'clear') => void;
  readonly onShow: (node: NodeBody, row: number) => void;
  readonly onApprove: (node: NodeBody) => void;
}

export function NodeTable({ nodes, marked, shown, selected, onSelect, onShow, onApprove }: NodeTableProps) {
  const forbidden = useForbidden();
  return (
    <table className="table">
      <thead>
        <tr>
          <th>
            <input
              type="checkbox"
              aria-label="Select all shown nodes"
              checked={nodes.every(({ id }) => selected.has(id))}
              onChange={(event) =>
                onSelect(
                  nodes.map(({ id }) => id),
                  event.target.checked ? 'select' : 'clear',
                )
              }
            />
          </th>
          <th>Node</th>
          <th>Hardware</th>
          <th>State</th>
          <th>Workflow</th>
          <th className="number">Attempts</th>
          <th>Last seen</th>
          <th>
            <span className="visually-hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {nodes.map((node, row) => (
          <tr key={node.id} aria-selected={row === marked || node.id === shown}>
            <td>
              <input
                type="checkbox"
                aria-label={`Select ${node.id}`}
                checked={selected.has(node.id)}
                onChange={(event) => onSelect([node.id], event.target.checked ? 'select' : 'clear')}
              />
            </td>
            <td>
              <Link
                className="mono"
                href={machineHref(node.id)}
                title={node.id}
                aria-label={spokenId(node.id)}
              >
                {shortId(node.id)}
              </Link>
              <div className="soft mono">{node.mac_address}</div>
            </td>
            <td>
              {[node.vendor, node.model].filter(Boolean).join(' ') || <span className="soft">–</span>}
              <div className="soft">{[node.hostname, node.ip_address].filter(Boolean).join(' · ')}</div>
            </td>
            <td>
              <StateBadge
                layer="install"
                state={node.state}
                title={installLifecycle.states[node.state as keyof typeof installLifecycle.states]?.meaning}
              />
              <Progress node={node} />
            </td>
            <td>{node.workflow ?? <span className="soft">–</span>}</td>
            <td className="number">{node.install_attempts}</td>
            <td>
              <Age at={node.last_seen_at === null ? undefined : Date.parse(node.last_seen_at)} />
            </td>
            <td>
              <div className="row one-line">
                {(node.state === 'discovered' || node.state === 'install_failed') && (
                  <Button
                    kind="primary"
                    disabledBecause={forbidden('operator', METHODS.approveNode)}
                    label={`${node.state === 'discovered' ? 'Approve' : 'Reset'} ${node.id}`}
                    onClick={() => onApprove(node)}
                  >
                    {node.state === 'discovered' ? 'Approve' : 'Reset'}
                  </Button>
                )}
                <Button
                  kind="quiet"
                  pressed={node.id === shown}
                  label={`History of ${node.id}`}
                  onClick={() => onShow(node, row)}
                >
                  History
                </Button>
              </div>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Progress({ node }: { node: NodeBody }) {
  if (node.state === 'install_failed') return <div className="fault clipped">{node.last_install_error}</div>;
  if (node.state !== 'installing' || node.install_progress === null) return null;
  return <ProgressBar label={`Installation of ${node.id}`} percent={node.install_progress} tone="blue" />;
}
