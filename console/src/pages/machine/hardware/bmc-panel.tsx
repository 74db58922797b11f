/** The BMC: the power of the machine, what it boots from next, its indicator, and what can be done about them. */
import { useQueryClient } from '@tanstack/react-query';
import {
  BMC_ACTION_NAMES,
  BMC_ACTIONS,
  type BmcAction,
} from '../../../../../src/domain/machine/bmc-action.ts';
import type { PowerStatus } from '../../../../../src/gen/baremetal/fleet/v1/bmc_service_pb.ts';
import { failureOf } from '../../../api/failure.ts';
import type { MachineView } from '../../../machine-view.ts';
import { ActionRow } from '../../../ui/action-row.tsx';
import { Button } from '../../../ui/button.tsx';
import { Panel } from '../../../ui/panel.tsx';
import { TimeLeft } from '../../../ui/time.tsx';
import { useBootOverride, usePower } from '../use-bmc.ts';

export interface BmcPanelProps {
  readonly machine: MachineView;
  readonly whyNotNow: (action: BmcAction) => string;
  readonly onAction: (action: BmcAction) => void;
}

export function BmcPanel({ machine, whyNotNow, onAction }: BmcPanelProps) {
  const { machineId } = machine;
  const queries = useQueryClient();
  return (
    <Panel
      title="BMC"
      actions={
        <Button
          kind="quiet"
          label="Refresh what the BMC says"
          onClick={() => void queries.invalidateQueries({ queryKey: ['bmc', machineId] })}
        >
          Refresh
        </Button>
      }
    >
      <dl className="facts">
        <PowerFacts machineId={machineId} />
        <dt>Boots next</dt>
        <dd>
          <BootText machineId={machineId} />
        </dd>
        <dt>Indicator</dt>
        <dd>
          <IndicatorText machine={machine} />
        </dd>
      </dl>
      <div className="row bmc-actions">
        <ActionRow
          menuLabel="More actions of the BMC"
          actions={BMC_ACTION_NAMES.map((action) => ({
            key: action,
            title: BMC_ACTIONS[action].title,
            effect: BMC_ACTIONS[action].effect,
            isDangerous: BMC_ACTIONS[action].confirm === 'name',
            disabledBecause: whyNotNow(action),
            run: () => onAction(action),
          }))}
        />
      </div>
    </Panel>
  );
}

function PowerFacts({ machineId }: { machineId: string }) {
  const { data, error, isPending } = usePower(machineId);
  const text = (read: (status: PowerStatus) => string) => {
    if (data) return data.problem !== '' && read !== powerOf ? data.problem : read(data);
    return isPending ? 'reading' : failureOf(error).message;
  };
  return (
    <>
      <dt>Power</dt>
      <dd>{text(powerOf)}</dd>
      {data && (
        <>
          <dt>Draws</dt>
          <dd>{text(({ watts }) => (watts === undefined ? 'not said' : `${watts} W`))}</dd>
          <dt>Power cap</dt>
          <dd>{text(capOf)}</dd>
        </>
      )}
    </>
  );
}

const powerOf = ({ power }: PowerStatus): string => power;

function capOf({ capWatts, lowestCapWatts, highestCapWatts, canCap }: PowerStatus): string {
  const range = [
    lowestCapWatts === undefined ? '' : `from ${lowestCapWatts} W`,
    highestCapWatts === undefined ? '' : `up to ${highestCapWatts} W`,
  ].filter((part) => part !== '');
  const cap = capWatts === undefined ? (canCap ? 'none' : 'the BMC offers none') : `${capWatts} W`;
  return range.length === 0 ? cap : `${cap} (${range.join(' ')})`;
}

function BootText({ machineId }: { machineId: string }) {
  const { data, error, isPending } = useBootOverride(machineId);
  if (!data) return isPending ? 'reading' : failureOf(error).message;
  const { source, target, once, mode } = data;
  if (source === 'none') return 'as its firmware is set up';
  return `from ${source} (${target}), ${once ? 'the next boot only' : 'every boot'}${mode && `, ${mode}`}`;
}

function IndicatorText({ machine: { message } }: { machine: MachineView }) {
  const locating = message.status?.locating;
  if (!locating) return 'off';
  return (
    <>
      on for <TimeLeft until={locating.until} />, by {locating.by}
      {locating.problem && <span className="fault"> {locating.problem}</span>}
    </>
  );
}
