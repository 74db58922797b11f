/** baremetal.fleet.v1.BmcService: what operators do through a machine's BMC. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Caller } from '../../../domain/access/caller.ts';
import { invalidField } from '../../../domain/error/fault.ts';
import {
  BOOT_SOURCE_NAMES,
  type BootOverrideRequest,
  type BootReading,
  bootPathProblem,
} from '../../../domain/hardware/boot-override.ts';
import { locatingMs } from '../../../domain/hardware/locating.ts';
import { limitWatts, type PowerReading } from '../../../domain/hardware/power-reading.ts';
import {
  isPowerRequest,
  POWER_REQUEST_NAMES,
  type PowerRequest,
} from '../../../domain/hardware/power-request.ts';
import { checkMachineId, checkRequestId, checkText } from '../../../domain/machine/machine-input.ts';
import {
  type BmcCertificateSchema,
  BmcService,
  type BootOverrideSchema,
  type PowerStatusSchema,
  type SetBootOverrideRequest,
} from '../../../gen/baremetal/fleet/v1/bmc_service_pb.ts';
import { askBmc, machineWithBmc } from '../../../operations/bmc/bmc-call.ts';
import { locateMachine } from '../../../operations/bmc/locate-machine.ts';
import { readPower } from '../../../operations/bmc/read-power.ts';
import {
  readBmcCertificate,
  type SeenCertificate,
  trustBmcCertificate,
} from '../../../operations/bmc/trust-certificate.ts';
import {
  changePower,
  clearBmcLog,
  resetBmc,
  rotateBmcPassword,
  setBootOverride,
  setPowerCap,
} from '../../../operations/start/bmc-operations.ts';
import type { MachineCall } from '../../../operations/start/start-on-machine.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import { defineService, type Service } from '../service.ts';
import { startOptions } from '../start-options.ts';
import { locatingMessage, operationMessage } from '../v2/to-proto.ts';

export function bmcService(dependencies: ServerDependencies): Service {
  return defineService(
    BmcService,
    {
      async getPower({ machineId }, { caller, signal }) {
        const machine = await machineWithBmc(dependencies, checkMachineId(machineId), caller.scope);
        const { power, reading } = await readPower(dependencies, machine, signal);
        return powerMessage(machine.machineId, power, reading);
      },
      async changePower(request, { caller }) {
        const action = readAction(request.action);
        return operationMessage(await changePower(dependencies, startOf(request, caller), action));
      },
      async setPowerCap(request, { caller }) {
        const watts = readWatts(request.watts);
        return operationMessage(await setPowerCap(dependencies, startOf(request, caller), watts));
      },
      async locateMachine({ machineId: given, duration, off, reason }, { caller, signal }) {
        const machineId = checkMachineId(given);
        if (off && duration !== '') throw invalidField('duration', 'is not for switching it off');
        const ms = off ? null : locatingMs(duration);
        const comment = checkText(reason, 'reason', 1000);
        const { actor, scope } = caller;
        const call = { machineId, ms, reason: comment, actor, scope, signal };
        const locating = await locateMachine(dependencies, call);
        return { machineId, ...(locating && { locating: locatingMessage(locating) }) };
      },
      async getBootOverride({ machineId }, { caller, signal }) {
        const machine = await machineWithBmc(dependencies, checkMachineId(machineId), caller.scope);
        const read = await askBmc(dependencies, machine, signal, (bmc, call) => bmc.bootOverride(call));
        return bootMessage(machine.machineId, read);
      },
      async setBootOverride(request, { caller }) {
        const override = readBootOverride(request);
        return operationMessage(await setBootOverride(dependencies, startOf(request, caller), override));
      },
      clearBmcLog: async (request, { caller }) =>
        operationMessage(await clearBmcLog(dependencies, startOf(request, caller))),
      resetBmc: async (request, { caller }) =>
        operationMessage(await resetBmc(dependencies, startOf(request, caller))),
      rotateBmcPassword: async (request, { caller }) =>
        operationMessage(await rotateBmcPassword(dependencies, startOf(request, caller))),
      async getBmcCertificate({ machineId }, { caller, signal }) {
        return certificateMessage(
          await readBmcCertificate(dependencies, checkMachineId(machineId), caller, signal),
        );
      },
      async trustBmcCertificate({ machineId: given, sha256, reason }, { caller, signal }) {
        const machineId = checkMachineId(given);
        const asked = { machineId, sha256, reason: checkText(reason, 'reason', 1000) };
        return certificateMessage(await trustBmcCertificate(dependencies, asked, caller, signal));
      },
    },
    {
      getPower: 'viewer',
      changePower: 'operator',
      setPowerCap: 'operator',
      locateMachine: 'operator',
      getBootOverride: 'viewer',
      setBootOverride: 'operator',
      clearBmcLog: 'admin',
      resetBmc: 'operator',
      rotateBmcPassword: 'admin',
      getBmcCertificate: 'operator',
      trustBmcCertificate: 'admin',
    },
  );
}

interface StartMessage {
  readonly machineId: string;
  readonly requestId: string;
  readonly reason: string;
  readonly overrideBudget?: boolean;
}

function startOf(request: StartMessage, caller: Caller): MachineCall {
  const { reason, overrideBudget = false } = request;
  return {
    machineId: checkMachineId(request.machineId),
    requestId: checkRequestId(request.requestId),
    actor: caller.actor,
    scope: caller.scope,
    ...startOptions({ reason, overrideBudget }, caller),
  };
}

function readAction(given: string): PowerRequest {
  if (isPowerRequest(given)) return given;
  throw invalidField('action', `must be one of ${POWER_REQUEST_NAMES.join(', ')}`);
}

/** Null: the cap is removed. */
function readWatts(given: number | undefined): number | null {
  if (given === undefined) return null;
  const watts = limitWatts(given);
  if (watts === null) throw invalidField('watts', 'must be from 1 to 100000');
  return watts;
}

function readBootOverride({
  source: given,
  continuous,
  mode,
  path,
}: SetBootOverrideRequest): BootOverrideRequest {
  const source = BOOT_SOURCE_NAMES.find((name) => name === given);
  if (source === undefined) throw invalidField('source', `must be one of ${BOOT_SOURCE_NAMES.join(', ')}`);
  if (mode !== '' && mode !== 'UEFI' && mode !== 'Legacy')
    throw invalidField('mode', 'must be UEFI or Legacy, or empty');
  const problem = bootPathProblem({ source, path });
  if (problem !== null) throw invalidField('path', problem);
  return { source, lasts: continuous ? 'always' : 'once', mode: mode === '' ? null : mode, path };
}

function powerMessage(
  machineId: string,
  power: 'on' | 'off',
  reading: PowerReading | string,
): MessageInitShape<typeof PowerStatusSchema> {
  if (typeof reading === 'string') return { machineId, power, problem: reading };
  const { watts, limitWatts: cap, capacityWatts, lowestLimitWatts, highestLimitWatts, limitAt } = reading;
  return {
    machineId,
    power,
    ...(watts !== null && { watts }),
    ...(cap !== null && { capWatts: cap }),
    ...(capacityWatts !== null && { capacityWatts }),
    ...(lowestLimitWatts !== null && { lowestCapWatts: lowestLimitWatts }),
    ...(highestLimitWatts !== null && { highestCapWatts: highestLimitWatts }),
    canCap: limitAt !== null,
  };
}

function bootMessage(machineId: string, read: BootReading): MessageInitShape<typeof BootOverrideSchema> {
  const { source, target, lasts, mode, path, offered } = read;
  return {
    machineId,
    source,
    target,
    once: lasts === 'once',
    mode: mode ?? '',
    path: source === 'http' ? originOf(path) : path,
    offered: [...offered],
  };
}

/** An address may be a one-time one, which lets its holder boot as the machine. */
function originOf(address: string): string {
  return URL.canParse(address) ? new URL(address).origin : '';
}

function certificateMessage({
  machine,
  certificate,
}: SeenCertificate): MessageInitShape<typeof BmcCertificateSchema> {
  const { sha256, subject, issuer, validFrom, validTo, isVerified } = certificate;
  const pinned = machine.spec.bmc_certificate_sha256;
  return {
    machineId: machine.machineId,
    sha256,
    subject,
    issuer,
    validFrom: timestampFromDate(validFrom),
    validTo: timestampFromDate(validTo),
    verified: isVerified,
    pinnedSha256: pinned,
    trusted: pinned === '' ? isVerified : pinned === sha256,
  };
}
