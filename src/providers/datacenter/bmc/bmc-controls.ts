/** The control of a machine's BMC, by the protocol that its endpoint and the provider choose. */
import { readFileSync } from 'node:fs';
import type { AddressRule } from '../../../connections/address-rules.ts';
import type { SourceOfMachine } from '../../../connections/credential-source.ts';
import { isUrl } from '../../../connections/endpoint.ts';
import { LoginBreaker } from '../../../connections/login-breaker.ts';
import type { KnownLog } from '../../../domain/hardware/hardware-log.ts';
import type { HardwareReading } from '../../../domain/hardware/hardware-reading.ts';
import type { Machine } from '../../../domain/machine/machine.ts';
import { StepFailure } from '../../../engine/step-handler.ts';
import { knownHostsReader } from '../../../hosts/known-hosts.ts';
import { RedfishServices } from '../../../redfish/service/redfish-services.ts';
import type { BmcAdministration } from '../../bmc-administration.ts';
import type { ProbeResult } from '../../provider.ts';
import { Bmcs } from '../ipmi/bmcs.ts';
import { createIpmiAdministration } from '../ipmi/ipmi-administration.ts';
import { createIpmiControl } from '../ipmi/ipmi-control.ts';
import { createRedfishAdministration } from '../redfish/redfish-administration.ts';
import type { UseRedfish } from '../redfish/redfish-changes.ts';
import { createRedfishControl } from '../redfish/redfish-control.ts';
import type { BmcConfiguration } from './bmc-configuration.ts';
import type { BmcControl } from './bmc-control.ts';
import { BmcLogins } from './bmc-logins.ts';
import { createNetworkCheck } from './bmc-networks.ts';

export interface BmcControls {
  of(machine: Machine): BmcControl;
  administrationOf(machine: Machine): BmcAdministration;
  /** Null: the machine has no BMC that the provider can use, or an operation is using it. */
  probe(machine: Machine, signal: AbortSignal): Promise<ProbeResult | null>;
  /** Null: the machine has no BMC that the provider can use, or another caller wants it. */
  readSensors(machine: Machine, known: KnownLog, signal: AbortSignal): Promise<HardwareReading | null>;
  checkStart(machine: Machine): void;
  /** Where the BMC is not reached over Redfish. */
  checkRedfish(machine: Machine): void;
  /** For what only Redfish has. Throws a StepFailure where the BMC is not reached over it. */
  readonly useRedfish: UseRedfish;
  /** Ends what is kept open at BMCs. */
  stop(): Promise<void>;
}

export interface BmcControlsDependencies {
  readonly monotonicNow: () => number;
  readonly rule: AddressRule;
  readonly credentials: SourceOfMachine;
}

export function createBmcControls(
  configuration: BmcConfiguration,
  { monotonicNow, rule, credentials }: BmcControlsDependencies,
): BmcControls {
  const logins = new BmcLogins(configuration, credentials);
  const checkNetwork = createNetworkCheck(configuration.allowed_networks);
  const bmcs = new Bmcs(configuration, { monotonicNow, rule, logins, checkNetwork });
  const { ca_file: caFile, plaintext } = configuration.redfish;
  const services = new RedfishServices({
    monotonicNow,
    rule,
    checkNetwork,
    plaintext,
    login: (machine, signal) => logins.of(machine, signal),
    authorities: caFile === undefined ? null : readFileSync(caFile, 'utf8'),
    limitMs: configuration.timeout_seconds * 1000,
  });
  const ipmi = createIpmiControl(bmcs, configuration);
  const { check_seconds: checkSeconds, ssh_known_hosts: knownHosts } = configuration.console;
  const redfish = createRedfishControl(services, configuration, {
    ipmi: { bmcs, checkMs: checkSeconds * 1000 },
    ssh: {
      rule,
      checkNetwork,
      logins,
      knownHosts: knownHosts === undefined ? null : knownHostsReader(knownHosts),
      breaker: new LoginBreaker({ monotonicNow, credential: 'password', maxRefusals: 1 }),
      timeoutMs: configuration.timeout_seconds * 1000,
    },
  });
  const hasBmc = ({ spec: { bmc_endpoint: endpoint } }: Machine) =>
    endpoint !== '' && !(configuration.protocol === 'ipmi' && isUrl(endpoint));
  const of = (machine: Machine) => (isRedfish(configuration, machine) ? redfish : ipmi);
  const administrations = {
    ipmi: createIpmiAdministration(bmcs, configuration, logins),
    redfish: createRedfishAdministration(services, logins),
  };
  return {
    of,
    administrationOf: (machine) => administrations[isRedfish(configuration, machine) ? 'redfish' : 'ipmi'],
    probe: async (machine, signal) => (hasBmc(machine) ? of(machine).probe(machine, signal) : null),
    readSensors: async (machine, known, signal) =>
      hasBmc(machine) ? of(machine).readSensors(machine, known, signal) : null,
    checkStart(machine) {
      of(machine).checkStart(machine);
      logins.check(machine);
    },
    checkRedfish: (machine) => of(machine).checkRedfish(machine),
    async useRedfish(call, work) {
      of(call.machine).checkRedfish(call.machine);
      return services.use(call, work);
    },
    stop: () => services.stop(),
  };
}

function isRedfish({ protocol }: BmcConfiguration, { machineId, spec }: Machine): boolean {
  if (protocol === 'redfish') return true;
  if (protocol === 'auto' || !isUrl(spec.bmc_endpoint)) return isUrl(spec.bmc_endpoint);
  throw new StepFailure({
    class: 'permanent',
    code: 'REDFISH_NOT_SUPPORTED',
    message: `${machineId} has a URL in spec.bmc_endpoint, which means Redfish, and its provider has bmc.protocol ipmi`,
  });
}
