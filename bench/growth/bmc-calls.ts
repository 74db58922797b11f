/** The calls of BMCs and serial consoles. Most need a part that no machine of this fleet has. */
import { BmcService } from '../../src/gen/baremetal/fleet/v1/bmc_service_pb.ts';
import { ConsoleService } from '../../src/gen/baremetal/fleet/v1/console_service_pb.ts';
import { type GrowthCall, type LeftOut, unary } from './call.ts';

const { getConsole, getConsoleLog, ...ofOpenConsoles } = ConsoleService.method;

export const CONSOLE_CALLS: readonly GrowthCall[] = [
  unary(getConsole, { use: 'daily', request: ({ machineId }) => ({ machineId }) }),
  unary(getConsoleLog, { use: 'daily', request: ({ machineId }) => ({ machineId }) }),
];

export const BMC_LEFT_OUT: readonly LeftOut[] = [
  ...Object.values(BmcService.method).map((method) => ({ method, why: 'needs a BMC' })),
  ...Object.values(ofOpenConsoles).map((method) => ({ method, why: 'needs a serial console' })),
];
