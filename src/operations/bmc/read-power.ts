/** What a BMC says of the power of its machine. */
import type { PowerReading } from '../../domain/hardware/power-reading.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import { askBmc, type BmcCallDependencies } from './bmc-call.ts';

export interface ReadPower {
  readonly power: 'on' | 'off';
  /** A text: why there is none. */
  readonly reading: PowerReading | string;
}

export function readPower(
  dependencies: Pick<BmcCallDependencies, 'providers'>,
  machine: Machine,
  signal: AbortSignal,
): Promise<ReadPower> {
  return askBmc(dependencies, machine, signal, async (bmc, call) => ({
    power: await bmc.power(call),
    reading: await unlessNotOffered(() => bmc.powerReading(call)),
  }));
}

const NOT_OFFERED: readonly string[] = ['REDFISH_NOT_OFFERED', 'BMC_REFUSED'];

/** A BMC without readings still says whether the machine is on. */
async function unlessNotOffered(read: () => Promise<PowerReading>): Promise<PowerReading | string> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof StepFailure) || !NOT_OFFERED.includes(error.failure.code)) throw error;
    return error.failure.message;
  }
}
