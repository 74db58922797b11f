/** Failures between the server and a MAAS. */
import type { FailureAdvice } from './advice.ts';

export const MAAS_FAILURES = {
  MAAS_UNAUTHORIZED: {
    whatHappened: 'the MAAS does not accept our API key',
    check: "put a valid key into the provider's api_key_file",
    action: 'retry_stage',
    who: 'admin',
  },
  MAAS_FORBIDDEN: {
    whatHappened: 'the MAAS does not allow the user of our API key what the step needs',
    check: 'make that user an administrator in the MAAS',
    action: 'retry_stage',
    who: 'upstream',
  },
  MAAS_NOT_FOUND: {
    whatHappened: 'the MAAS has no such thing: a machine, an interface, a disk, or its API itself',
    check: "see what the error names; correct the provider's url where nothing is found",
    action: 'retry_stage',
    who: 'upstream',
  },
  MAAS_CONFLICT: {
    whatHappened: 'the MAAS says that the machine is not in a state for this',
    check: 'let what else is done with the machine in the MAAS come to its end',
    action: 'retry_stage',
    who: 'upstream',
  },
  MAAS_UNAVAILABLE: {
    whatHappened: 'the MAAS does not answer, or cannot do it now',
    check:
      'bring it back, and the network to it; where the error repeats its words (500), see to what they name, such as a BMC that it cannot switch',
    action: 'retry_stage',
    who: 'upstream',
    waitedOut: true,
  },
  MAAS_REFUSED: {
    whatHappened: 'the MAAS calls the request wrong, or sends it elsewhere',
    check: "see what it says in the error; correct the spec of the machine, or the provider's url",
    action: 'retry_stage',
    who: 'admin',
  },
  MAAS_BUSY: {
    whatHappened: 'too many requests wait for this MAAS',
    check: 'inspect the load of the MAAS; start fewer operations on it at a time',
    action: 'retry_stage',
    who: 'upstream',
    waitedOut: true,
  },
  MAAS_ANSWER_LOST: {
    whatHappened: 'the MAAS broke off its answer',
    check: 'inspect the network and the proxies between Ingot and the MAAS',
    action: 'retry_stage',
    who: 'upstream',
    waitedOut: true,
  },
  MAAS_ANSWER_TOO_LARGE: {
    whatHappened: 'the answer of the MAAS is larger than Ingot reads',
    check: "find out what answers at the provider's url: a MAAS does not answer that much",
    action: 'retry_stage',
    who: 'admin',
  },
  MAAS_ANSWER_UNREADABLE: {
    whatHappened: 'the answer of the MAAS is not JSON',
    check: "find out what answers at the provider's url: a proxy in between may",
    action: 'retry_stage',
    who: 'admin',
  },
  MAAS_ANSWER_UNKNOWN: {
    whatHappened: 'the answer of the MAAS lacks what every MAAS tells',
    check: 'inspect the version of the MAAS, and what answers in its place',
    action: 'retry_stage',
    who: 'admin',
  },
  MAAS_CERTIFICATE_INVALID: {
    whatHappened: 'the certificate of the MAAS is not one that we trust',
    check: "make sure that it is the right server, then correct its certificate or the provider's ca_file",
    action: 'retry_stage',
    who: 'admin',
  },
  MAAS_POWER_UNKNOWN: {
    whatHappened: 'the MAAS does not know whether the machine is on: its BMC does not answer the MAAS',
    check: 'inspect the BMC, its network, and its power parameters in the MAAS',
    action: 'retry_stage',
    who: 'site',
    waitedOut: true,
  },
  MAAS_NOT_DEPLOYED: {
    whatHappened: 'the machine is not Deployed in the MAAS, which alone may be switched on',
    check: 'deploy it (onboard it)',
    action: 'retry_stage',
    who: 'operator',
  },
  MAAS_MACHINE_MISSING: {
    whatHappened: 'the MAAS has no machine with an address of this one',
    check: 'correct spec.mac_addresses, or add the machine to the MAAS (onboard it)',
    action: 'retry_stage',
    who: 'operator',
  },
  MAAS_MACHINE_AMBIGUOUS: {
    whatHappened: 'several machines in the MAAS have addresses of this one',
    check: 'correct spec.mac_addresses, or delete the wrong record in the MAAS',
    action: 'retry_stage',
    who: 'upstream',
  },
  MAAS_SUBNET_UNKNOWN: {
    whatHappened: 'the MAAS knows no subnet, or several, for the boot interface',
    check: 'give the VLAN of the interface one managed subnet in the MAAS',
    action: 'retry_stage',
    who: 'upstream',
  },
  MAAS_MACHINE_OWNED: {
    whatHappened: 'another user has the machine in the MAAS, so it is neither deployed nor released',
    check: 'ask the user whom the error names to release it in the MAAS, or correct spec.mac_addresses',
    action: 'rerun',
    who: 'upstream',
  },
  MAAS_MACHINE_LOCKED: {
    whatHappened: 'the machine is locked in the MAAS, which refuses every change to it',
    check: 'find out why it was locked, then unlock it in the MAAS',
    action: 'retry_stage',
    who: 'upstream',
  },
  MAAS_POWER_MANUAL: {
    whatHappened: 'people switch the power of the machine: the MAAS can neither switch nor tell it',
    check: 'give the machine a power type in the MAAS that it can switch, or switch it by hand',
    action: 'retry_stage',
    who: 'site',
  },
  NO_POWER_CREDENTIALS: {
    whatHappened: 'the provider has no power section, so no machine can be added to its MAAS',
    check: "add power to the provider's configuration, and restart",
    action: 'retry_stage',
    who: 'admin',
  },
} as const satisfies Record<string, FailureAdvice>;
