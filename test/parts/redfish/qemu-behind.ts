/**
 * A machine in QEMU behind a simulated BMC. What is set at the BMC for the next boot, its firmware gets: the address of an HTTP boot as its
 * one boot option, or what is in the virtual drive as a CD. Any other boot is one from the disk.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { QemuMachine } from '../qemu.ts';
import { writeBootVariables } from '../uefi-variables.ts';
import type { RedfishSimulator } from './simulator.ts';

const FROM_CD: readonly string[] = ['Cd', 'UsbCd'];

export function putBehind(bmc: RedfishSimulator, machine: QemuMachine): void {
  // A machine that is switched off takes a moment to be so: one change after the other.
  let turn: Promise<void> = Promise.resolve();
  let waiting = 0;
  const next = (work: () => Promise<void>) => {
    waiting += 1;
    turn = turn.then(work).finally(() => {
      waiting -= 1;
    });
  };
  bmc.system.behind = {
    powerOn: (from, httpUri) =>
      next(async () => {
        await machine.powerOff();
        if (FROM_CD.includes(from) && bmc.media !== null) machine.powerOn({ cd: bmc.media });
        else {
          writeBootVariables(machine.variables, from === 'UefiHttp' ? httpUri : null);
          machine.powerOn('disk');
        }
        while (!machine.isOn()) await sleep(20);
      }),
    powerOff: () => next(() => machine.powerOff()),
    // While its turn has not come, it is what it was asked to be.
    isOn: () => waiting > 0 || machine.isOn(),
  };
  bmc.onEject = () => next(() => machine.eject());
}
