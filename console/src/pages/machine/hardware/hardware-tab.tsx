/** The hardware of a machine: a picture of its slots, what it must have, its firmware, what changed, and what its BMC reports. */
import { Empty, Failed, Loading } from '../../../ui/blank.tsx';
import { Command } from '../../../ui/command.tsx';
import { Panel } from '../../../ui/panel.tsx';
import '../../../styles/hardware.css';
import { BmcPanel, type BmcPanelProps } from './bmc-panel.tsx';
import { ChangesPanel } from './changes-panel.tsx';
import { FirmwarePanel } from './firmware-panel.tsx';
import { LemonPanel } from './lemon-panel.tsx';
import { LogPanel } from './log-panel.tsx';
import { ProfilePanel } from './profile-panel.tsx';
import { SensorsPanel } from './sensors-panel.tsx';
import { SlotsPanel } from './slots-panel.tsx';
import { useHardware } from './use-hardware.ts';

export interface HardwareTabProps extends BmcPanelProps {
  /** Null: it has one. */
  readonly whyNoBmc: string | null;
}

export function HardwareTab({ machine, whyNoBmc, ...actions }: HardwareTabProps) {
  const { machineId } = machine;
  const { data, isPending, isError, error, refetch } = useHardware(machineId);
  return (
    <div className="stack hardware-panels">
      {isPending && <Loading lines={6} />}
      {isError && !data && (
        <Failed what="Failed to load the hardware" error={error} onRetry={() => void refetch()} />
      )}
      {data && data.sources.length === 0 && (
        <Panel title="Slots">
          <Empty title="Nothing is known of the hardware">
            <span>An inspection reads it through the BMC. It changes nothing on the machine.</span>
            <Command>{`ingot inspect ${machineId}`}</Command>
          </Empty>
        </Panel>
      )}
      {data && data.sources.length > 0 && <SlotsPanel hardware={data} />}
      {whyNoBmc === null && <BmcPanel machine={machine} {...actions} />}
      <div className="columns">
        <LemonPanel machineId={machineId} />
        {data && <ProfilePanel hardware={data} />}
      </div>
      <SensorsPanel machineId={machineId} hasBmc={machine.spec.bmc_endpoint !== ''} />
      <LogPanel machineId={machineId} />
      {data && data.firmware.length > 0 && <FirmwarePanel hardware={data} />}
      <ChangesPanel machineId={machineId} />
    </div>
  );
}
