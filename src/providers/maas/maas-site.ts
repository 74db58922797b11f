/** What the configuration says about a MAAS' site, in the words of the steps. Credentials are read for each use. */

import type { AddressRule } from '../../connections/address-rules.ts';
import { CredentialProblem, readReferredFile } from '../../connections/credential-reference.ts';
import { parseEndpoint } from '../../connections/endpoint.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import { publicKeyOf } from '../../hosts/ssh-configuration.ts';
import { usableIdentity } from '../../hosts/ssh-session.ts';
import {
  type MaasConfiguration,
  type MaasPowerConfiguration,
  readPowerPassword,
} from './maas-configuration.ts';
import type { MaasPower, MaasSite } from './maas-control.ts';
import { resolveOptions } from './maas-options.ts';

const IPMI_PORT = 623;

export function createMaasSite(maas: string, configuration: MaasConfiguration, rule: AddressRule): MaasSite {
  const { architecture, deploy, storage, power, waits, ssh } = configuration;
  const wanted = storage.boot_disk_model.toLowerCase();
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
    resolvePower(machine) {
      if (power) return resolvePower(power, machine, rule);
      const message = `the provider ${maas} has no power in its configuration, so no machine can be added to it`;
      throw new StepFailure({ class: 'needs_human', code: 'NO_POWER_CREDENTIALS', message });
    },
  };
}

function resolvePower(power: MaasPowerConfiguration, machine: Machine, rule: AddressRule): MaasPower {
  if (power.type === 'manual') return { powerType: 'manual', powerParameters: {} };
  rule.check(hostOf(machine));
  const login = { power_user: power.user, power_pass: readable(() => readPowerPassword(power)) };
  if (power.type === 'redfish') {
    return { powerType: 'redfish', powerParameters: { power_address: redfishAddress(machine), ...login } };
  }
  return {
    powerType: 'ipmi',
    powerParameters: {
      power_address: ipmiAddress(machine),
      ...login,
      power_driver: power.driver,
      power_boot_type: power.boot_type,
      cipher_suite_id: power.cipher_suite,
      privilege_level: power.privilege,
    },
  };
}

/** MAAS connects to it, and resolves a name itself. */
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
