import type { Hardware } from '../../../../../src/gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { Panel } from '../../../ui/panel.tsx';
import { Age } from '../../../ui/time.tsx';

export function FirmwarePanel({ hardware: { firmware } }: { hardware: Hardware }) {
  return (
    <Panel title="Firmware" padding="none">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Component</th>
            <th scope="col">Version</th>
            <th scope="col">Source</th>
            <th scope="col">Reported</th>
          </tr>
        </thead>
        <tbody>
          {firmware.map(({ component, name, version, origin }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a BMC may list a component twice
            <tr key={`${component} ${index}`}>
              <th scope="row">{name || component}</th>
              <td className="mono">{version}</td>
              <td>{origin?.source}</td>
              <td>
                <Age at={origin?.reportedAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}
