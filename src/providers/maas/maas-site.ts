/** What the configuration says about a MAAS' site, in the words of the steps. Credentials are read for each use. */

import { type AddressRule, addressForOther } from '../../connections/address-rules.ts';
import { CredentialProblem, readReferredFile } from '../../connections/credential-reference.ts';
import type { SourceOfMachine } from '../../connections/credential-source.ts';
import { parseEndpoint } from '../../connections/endpoint.ts';
import { unlessAborted } from '../../connections/unless-aborted.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import { publicKeyOf } from '../../hosts/ssh-configuration.ts';
import { usableIdentity } from '../../hosts/ssh-session.ts';
import type { MaasPower, MaasSite } from './client/maas-control.ts';
import {
  type MaasConfiguration,
  type MaasPowerConfiguration,
  readPowerPassword,
} from './maas-configuration.ts';
import { resolveOptions } from './maas-options.ts';

const IPMI_PORT = 623;

export interface MaasSiteDependencies {
  readonly rule: AddressRule;
  readonly credentials: SourceOfMachine;
}

export function createMaasSite(
  maas: string,
  configuration: MaasConfiguration,
  { rule, credentials }: MaasSiteDependencies,
): MaasSite {
  const { architecture, deploy, storage, power, waits, ssh } = configuration;
  const wanted = storage.boot_disk_model.toLowerCase();
  const requiredPower = () => {
    if (power) return power;
    const message = `the provider ${maas} has no power in its configuration, so no machine can be added to it`;
    throw new StepFailure({ class: 'needs_human', code: 'NO_POWER_CREDENTIALS', message });
  };
  return {
    architecture,
    deploy: {
      osystem: deploy.osystem,
      distroSeries: deploy.distro_series,
      hardwareSync: deploy.hardware_sync,
    },
    waits: {
      hardwareSyncSeconds: waits.hardware_sync_seconds,
      agentSeconds: waits.agent_seconds,
      powerOffSeconds: waits.power_off_seconds,
    },
    bootDiskModel: storage.boot_disk_model,
    isBootDisk: ({ model }) => model.toLowerCase().includes(wanted),
    ssh: ssh ? { authorizedKey: () => publicKeyOf(usableIdentity(ssh)) } : null,
    readUserDataTemplate() {
      const { user_data_template: file } = deploy;
      return file === undefined ? null : readable(() => readReferredFile(file));
    },
    optionsFor: ({ labels }) => resolveOptions(configuration, labels),
    checkPower(machine) {
      const given = requiredPower();
      if (given.type === 'manual') return;
      powerAddress(given, machine, rule);
      if (!credentials(machine)) readable(() => readPowerPassword(given));
    },
    async resolvePower(machine, signal) {
      const given = requiredPower();
      if (given.type === 'manual') return { powerType: 'manual', powerParameters: {} };
      const address = await unlessAborted(addressForMaas(given, machine, rule), signal);
      const login = await powerLogin(given, machine, { credentials, signal });
      return { powerType: given.type, powerParameters: powerParameters(given, address, login) };
    },
  };
}

type SwitchedPower = Exclude<MaasPowerConfiguration, { readonly type: 'manual' }>;

interface PowerLogin {
  readonly power_user: string;
  readonly power_pass: string;
}

function powerAddress(power: SwitchedPower, machine: Machine, rule: AddressRule): string {
  rule.check(hostOf(machine));
  return power.type === 'redfish' ? redfishAddress(machine) : ipmiAddress(machine);
}

/** With the address that was checked in the place of a name: MAAS connects to it. */
async function addressForMaas(power: SwitchedPower, machine: Machine, rule: AddressRule): Promise<string> {
  const written = powerAddress(power, machine, rule);
  const host = hostOf(machine);
  const checked = await addressForOther(host, rule);
  if (checked === host) return written;
  return written.replace(host, checked.includes(':') && written !== host ? `[${checked}]` : checked);
}

async function powerLogin(
  power: SwitchedPower,
  machine: Machine,
  { credentials, signal }: { readonly credentials: SourceOfMachine; readonly signal: AbortSignal },
): Promise<PowerLogin> {
  const source = credentials(machine);
  if (!source) return { power_user: power.user, power_pass: readable(() => readPowerPassword(power)) };
  const { name, user, password } = await source.read(machine, signal);
  if (password) return { power_user: user ?? power.user, power_pass: password };
  const message = `${name} has no password`;
  throw new StepFailure({ class: 'needs_human', code: 'CREDENTIAL_UNREADABLE', message });
}

function powerParameters(
  power: SwitchedPower,
  address: string,
  login: PowerLogin,
): MaasPower['powerParameters'] {
  if (power.type === 'redfish') return { power_address: address, ...login };
  return {
    power_address: address,
    ...login,
    power_driver: power.driver,
    power_boot_type: power.boot_type,
    cipher_suite_id: power.cipher_suite,
    privilege_level: power.privilege,
  };
}

function hostOf({ spec: { bmc_endpoint: text } }: Machine): string {
  if (URL.canParse(text) && text.includes('://')) return new URL(text).hostname;
  return parseEndpoint(text, IPMI_PORT)?.host ?? '';
}

/** MAAS takes an address alone, and asks at IPMI's own port. */
function ipmiAddress({ machineId, spec }: Machine): string {
  const endpoint = spec.bmc_endpoint.includes('://') ? null : parseEndpoint(spec.bmc_endpoint, IPMI_PORT);
  if (endpoint?.port === IPMI_PORT) return endpoint.host;
  const message = endpoint
    ? `${machineId} has another port than ${IPMI_PORT} in spec.bmc_endpoint, which MAAS can't use for IPMI`
    : `${machineId} has no spec.bmc_endpoint that IPMI could use: host, without a scheme`;
  throw new StepFailure({ class: 'needs_human', code: 'NO_BMC_ENDPOINT', message });
}

/** host, host:port or https://host[:port]. */
function redfishAddress({ machineId, spec }: Machine): string {
  if (spec.bmc_endpoint !== '') return spec.bmc_endpoint;
  const message = `${machineId} has no spec.bmc_endpoint`;
  throw new StepFailure({ class: 'needs_human', code: 'NO_BMC_ENDPOINT', message });
}

function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof CredentialProblem)) throw error;
    throw new StepFailure({ class: 'needs_human', code: 'CREDENTIAL_UNREADABLE', message: error.message });
  }
}
