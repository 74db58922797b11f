/** What people did to the rollout, newest first. */
import { Link } from 'wouter';
import type { Rollout } from '../../../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { capitalize } from '../../capitalize.ts';
import { listOf, quoted } from '../../pages.ts';
import { Empty } from '../../ui/blank.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Age } from '../../ui/time.tsx';

export function HistoryPanel({ rollout: { rolloutId, actions } }: { rollout: Rollout }) {
  return (
    <Panel
      title="History"
      padding={actions.length === 0 ? 'none' : 'usual'}
      actions={<Link href={listOf('/audit', `subject = ${quoted(rolloutId)}`)}>View in audit log</Link>}
    >
      {actions.length === 0 && <Empty title="No actions yet" />}
      <ol className="ro-history">
        {actions.toReversed().map(({ at, action, by, reason, detail }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: actions have no other identity than their place
          <li key={actions.length - index}>
            <div className="wraps">
              <strong>{capitalize(action.replaceAll('-', ' '))}</strong>
              {detail !== '' && <span> {detail}</span>}
              {reason !== '' && <span>: {reason}</span>}
            </div>
            <div className="soft wraps">
              {by}, <Age at={at} />
            </div>
          </li>
        ))}
      </ol>
    </Panel>
  );
}
