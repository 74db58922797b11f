import type { Hardware } from '../../../../../src/gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { Panel } from '../../../ui/panel.tsx';

/** What hardware profiles expect against what was found. */
export function ProfilePanel({ hardware: { profiles, differences } }: { hardware: Hardware }) {
  return (
    <Panel title="Expected against found">
      {profiles.length === 0 && <p className="soft">No hardware profile applies to it.</p>}
      {profiles.length > 0 && differences.length === 0 && (
        <p>
          <span className="badge tone-green">matches</span> {profiles.join(', ')}
        </p>
      )}
      {differences.length > 0 && (
        <ul>
          {differences.map((difference) => (
            <li key={difference}>
              <span className="badge tone-red">differs</span> {difference}
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
