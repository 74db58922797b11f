/** What a BMC does beside booting its machine, over IPMI and DCMI. */
import type { BootOverrideRequest, BootReading, BootSource } from '../../../domain/hardware/boot-override.ts';
import { isBootSet } from '../../../domain/hardware/boot-override.ts';
import { POWER_REQUESTS } from '../../../domain/hardware/power-request.ts';
import { StepFailure } from '../../../engine/step-handler.ts';
import type { BmcAdministration } from '../../bmc-administration.ts';
import type { ProviderCall } from '../../provider.ts';
import type { BmcConfiguration } from '../bmc/bmc-configuration.ts';
import type { BmcLogins } from '../bmc/bmc-logins.ts';
import { createPasswordMethods } from '../bmc/bmc-password.ts';
import { bootDeviceNotSet, isRefusedByBmc } from '../bmc/bmc-refusal.ts';
import { type Bmc, BmcFailure, type Bmcs, powerOf } from './bmcs.ts';
import { type IpmiBootDevice, parseBootFlags, parseBootOptions } from './boot-flags.ts';
import { KEEP_FLAGS } from './ipmi-control.ts';
import { parseIndicator, parseLogEntries, parsePowerReading, parseUserId } from './ipmi-texts.ts';

const DEVICES: Partial<Record<BootOverrideRequest['source'], IpmiBootDevice>> = {
  none: 'none',
  pxe: 'pxe',
  disk: 'disk',
  cd: 'cdrom',
  setup: 'bios',
};

export function createIpmiAdministration(
  bmcs: Bmcs,
  configuration: BmcConfiguration,
  logins: BmcLogins,
): BmcAdministration {
  return {
    power: (call) => bmcs.use(call, powerOf),
    offersPower: async (_call, request) => POWER_REQUESTS[request].ipmi !== null,
    changePower: (call, request) => bmcs.use(call, (bmc) => changePower(bmc, call, request)),
    indicator: (call) => bmcs.use(call, async (bmc) => parseIndicator(await bmc.ask('chassis', 'status'))),
    setIndicator: (call, to) =>
      bmcs.use(call, async (bmc) => {
        call.log(`Switching the indicator ${to} over IPMI`);
        await bmc.send('chassis', 'identify', to === 'on' ? 'force' : '0');
      }),
    powerReading: (call) => bmcs.use(call, readPower),
    setPowerLimit: (call, watts) => bmcs.use(call, (bmc) => setLimit(bmc, call, watts)),
    logEntries: (call) => bmcs.use(call, async (bmc) => parseLogEntries(await bmc.ask('sel', 'info'))),
    clearLog: (call) =>
      bmcs.use(call, async (bmc) => {
        call.log('Clearing the SEL over IPMI');
        await bmc.send('sel', 'clear');
      }),
    resetBmc: (call) =>
      bmcs.use(call, async (bmc) => {
        call.log('Sending a cold reset to the BMC over IPMI');
        await bmc.send('mc', 'reset', 'cold');
      }),
    bootOverride: (call) => bmcs.use(call, (bmc) => readBoot(bmc, configuration)),
    setBootOverride: (call, request) => bmcs.use(call, (bmc) => setBoot(bmc, configuration, call, request)),
    certificate: async (call) => {
      throw notOfIpmi(call, 'has no certificate');
    },
    ...createPasswordMethods(logins, {
      logIn: async (call, login) => {
        await bmcs.use(call, powerOf, login);
      },
      change: (call, login, password) =>
        bmcs.use(call, (bmc) => changePassword(bmc, login.user, password), login),
    }),
  };
}

async function changePower(
  bmc: Bmc,
  call: ProviderCall,
  request: keyof typeof POWER_REQUESTS,
): Promise<void> {
  const { ipmi: command, endsIn } = POWER_REQUESTS[request];
  if (command === null) throw notOfIpmi(call, `has no command for ${request}`);
  if (endsIn !== null && (await powerOf(bmc)) === endsIn) {
    call.log(`The machine is ${endsIn}: nothing to do`);
    return;
  }
  call.log(`Sending the power command ${command} over IPMI, which does not say what its BMC offers`);
  await bmc.send('chassis', 'power', command);
}

async function readPower(bmc: Bmc) {
  const reading = await bmc.ask('dcmi', 'power', 'reading');
  return parsePowerReading(reading, await unlessRefused(() => bmc.ask('dcmi', 'power', 'get_limit')));
}

async function setLimit(bmc: Bmc, call: ProviderCall, watts: number | null): Promise<void> {
  if (watts === null) {
    call.log('Removing the power limit over DCMI');
    await bmc.send('dcmi', 'power', 'deactivate');
  } else {
    call.log(`Limiting the power to ${watts} W over DCMI`);
    await bmc.send('dcmi', 'power', 'set_limit', 'limit', String(watts));
    await bmc.send('dcmi', 'power', 'activate');
  }
  const { limitWatts: set } = await readPower(bmc);
  if (set === watts) return;
  const found = set === null ? 'no limit' : `a limit of ${set} W`;
  throw refused(`the BMC ${bmc.where} accepted the limit and says ${found}`);
}

async function setBoot(
  bmc: Bmc,
  configuration: BmcConfiguration,
  call: ProviderCall,
  request: BootOverrideRequest,
): Promise<void> {
  const device = DEVICES[request.source];
  if (device === undefined) throw notOfIpmi(call, `has no boot from ${request.source}`);
  call.log(`Setting the boot device to ${device} (${request.lasts}) over IPMI`);
  await unlessRefused(() => bmc.send(...KEEP_FLAGS));
  const options = [
    ...(request.lasts === 'always' ? ['persistent'] : []),
    ...(request.mode === 'UEFI' ? ['efiboot'] : []),
  ];
  const option = options.length === 0 ? [] : [`options=${options.join(',')}`];
  await bmc.send('chassis', 'bootdev', device, ...option);
  const read = await readBoot(bmc, configuration);
  if (!isBootSet(read, request)) throw bootDeviceNotSet(bmc.where, request.source, read.source);
  call.log(`The BMC says: next boot from ${read.source}`);
}

async function readBoot(bmc: Bmc, configuration: BmcConfiguration): Promise<BootReading> {
  const text = await bmc.ask('chassis', 'bootparam', 'get', '5');
  const device = parseBootFlags(text, configuration);
  if (device === null) throw refused(`the BMC ${bmc.where} does not say what the machine boots from`);
  const { lasts, efi } = parseBootOptions(text);
  const [source = 'other'] =
    (Object.entries(DEVICES).find(([, name]) => name === device) as [BootSource, string] | undefined) ?? [];
  return {
    source,
    target: device,
    lasts: source === 'none' ? 'not' : lasts ? 'always' : 'once',
    mode: source === 'none' ? null : efi ? 'UEFI' : 'Legacy',
    path: '',
    offered: Object.keys(DEVICES),
  };
}

/** The password is on no command line, which every user of the host could read. */
async function changePassword(bmc: Bmc, user: string, password: string): Promise<void> {
  const id = parseUserId(await bmc.ask('user', 'list'), user);
  if (id === null) throw refused(`the BMC ${bmc.where} lists no user ${user}`);
  await bmc.sendHidden(`user set password ${id} ${password} ${password.length > 16 ? 20 : 16}`);
}

/** Null: it does not have the command. */
async function unlessRefused(ask: () => Promise<string>): Promise<string | null> {
  try {
    return await ask();
  } catch (error) {
    if (!isRefusedByBmc(error)) throw error;
    return null;
  }
}

function refused(message: string): BmcFailure {
  return new BmcFailure('CommandRefused', { class: 'retryable', code: 'BMC_REFUSED', message });
}

function notOfIpmi({ machine }: ProviderCall, what: string): StepFailure {
  const message = `the BMC of ${machine.machineId} is reached over IPMI, which ${what}; set spec.bmc_endpoint to the URL of its Redfish service`;
  return new StepFailure({ class: 'permanent', code: 'REDFISH_NOT_OFFERED', message });
}
