/** A machine of a MAAS in the words that every upstream has. Which of MAAS' states means what is decided here alone. */
import type { UpstreamMachine, UpstreamState } from '../upstream.ts';
import type { MaasMachine, MaasStatus } from './client/maas-control.ts';
import { imageText, isImage } from './maas-images.ts';

/** Its record in MAAS goes with it, so that it need not be read twice. */
export interface MaasUpstreamMachine extends UpstreamMachine {
  readonly record: MaasMachine;
}

const STATE_OF = {
  New: 'new',
  Commissioning: 'commissioning',
  'Failed commissioning': 'commissioning_failed',
  Missing: 'out_of_use',
  Ready: 'ready',
  Reserved: 'reserved',
  Deployed: 'deployed',
  Retired: 'out_of_use',
  Broken: 'broken',
  Deploying: 'deploying',
  Allocated: 'reserved',
  'Failed deployment': 'deployment_failed',
  Releasing: 'releasing',
  'Releasing failed': 'release_failed',
  'Disk erasing': 'erasing',
  'Failed disk erasing': 'release_failed',
  Testing: 'testing',
  'Failed testing': 'testing_failed',
  Unknown: 'unknown',
} as const satisfies Record<MaasStatus, UpstreamState>;

export function viewOfRecord(record: MaasMachine): MaasUpstreamMachine {
  const { systemId, hostname, status, statusMessage, power, powerType, macAddresses, image } = record;
  return {
    record,
    id: systemId,
    ...{ hostname, status, statusMessage, power, powerType, macAddresses },
    state: STATE_OF[status],
    isPowerManual: powerType === 'manual' || powerType === '',
    image: image.osystem === '' ? null : imageText(image),
    runsImage: (name) => isImage(image, name),
    addressInterface: addressInterfaceOf(record),
    hardwareSync: record.hardwareSync,
  };
}

/** The address is a bond's where the boot interface is part of one. */
function addressInterfaceOf({ bootInterface: boot, addressInterface: nic }: MaasMachine) {
  if (nic === null) return null;
  return {
    name: boot && nic.id !== boot.id ? `${nic.name} (with ${boot.name})` : nic.name,
    isAutomatic: nic.linkMode?.toLowerCase() === 'auto',
    addressMode: nic.linkMode,
  };
}
