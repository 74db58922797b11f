/** The calls of hardware. */
import { HardwareService } from '../../src/gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { type GrowthCall, type LeftOut, type Turn, unary } from './call.ts';

const hardware = HardwareService.method;

const profile = ({ unique }: Turn) => ({
  name: `profile-${unique}`,
  match: `labels.sku=${unique}`,
  expect: ['hardware.gpu.count=8'],
});

export const HARDWARE_CALLS: readonly GrowthCall[] = [
  unary(hardware.getHardware, { use: 'daily', request: ({ machineId }) => ({ machineId }) }),
  unary(hardware.listHardwareChanges, {
    use: 'daily',
    variant: 'of one machine',
    request: ({ machineId }) => ({ machineId }),
  }),
  unary(hardware.listSensors, { use: 'daily', request: ({ machineId }) => ({ machineId }) }),
  unary(hardware.getSensorHistory, { use: 'daily', request: ({ machineId }) => ({ machineId, hours: 6 }) }),
  unary(hardware.listHardwareLog, {
    use: 'daily',
    variant: 'of one machine',
    request: ({ machineId }) => ({ machineId }),
  }),
  unary(hardware.getLemonScore, { use: 'daily', request: ({ machineId }) => ({ machineId }) }),
  unary(hardware.listLemons, { use: 'daily', request: () => ({}) }),
  unary(hardware.inspectMachine, {
    use: 'daily',
    request: ({ machineId, unique }) => ({ machineId, requestId: unique }),
  }),
  unary(hardware.setHardwareProfile, { use: 'seldom', request: (turn) => ({ profile: profile(turn) }) }),
  unary(hardware.listHardwareProfiles, { use: 'daily', request: () => ({}) }),
  unary(hardware.deleteHardwareProfile, {
    use: 'seldom',
    request: async (turn) => {
      const { name } = await turn.client.unary(hardware.setHardwareProfile, { profile: profile(turn) });
      return { name };
    },
  }),
];

export const HARDWARE_LEFT_OUT: readonly LeftOut[] = [
  { method: hardware.diffHardware, why: 'needs a machine whose hardware was found to change' },
  { method: hardware.getEraseCertificate, why: 'needs disks that were erased' },
  { method: hardware.getBurnIn, why: 'needs a burn-in' },
];
