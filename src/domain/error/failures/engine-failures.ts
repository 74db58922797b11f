/**
 * Failures of the engine and of the server itself. A step that was interrupted from outside is resumed: its memo says
 * whether its effect happened. A step that failed by itself is tried again from its start.
 */
import type { FailureRow } from './advice.ts';

export const ENGINE_FAILURES = {
  TIMED_OUT: {
    classes: ['retryable'],
    whatHappened: 'the step was not done within its time limit',
    check: 'see what it last waited for, and bring that back',
    action: 'retry_stage',
    who: 'operator',
  },
  EXECUTION_FAILED: {
    classes: ['retryable', 'needs_human'],
    whatHappened: 'the machine or its provider reported that the work failed',
    check: 'read the log of the step, and fix what it names',
    action: 'retry_stage',
    who: 'operator',
  },
  INTERNAL: {
    classes: ['retryable'],
    whatHappened: 'an internal error of the server in this step',
    check: 'find the cause in the log of the server, under the id of the operation',
    action: 'retry_stage',
    who: 'admin',
  },
  HOLDER_DIED_REPEATEDLY: {
    classes: ['needs_human'],
    whatHappened: 'the server process died again and again while it worked on this step',
    check: 'find out in the log of the server and of the system why it died (memory, disk, a crash)',
    action: 'resume',
    who: 'admin',
  },
  DID_NOT_STOP: {
    classes: ['effect_unknown'],
    whatHappened: 'the step did not stop at its time limit, and its effect is not known',
    check: 'see whether its work is done on the machine; if it is not, retry the stage instead',
    action: 'adopt_observed_state',
    who: 'operator',
  },
  EFFECT_UNKNOWN: {
    classes: ['effect_unknown'],
    whatHappened: 'the command was started, and its result is not known',
    check: 'see on the host whether it is done; if it is not, retry the stage instead',
    action: 'adopt_observed_state',
    who: 'operator',
  },
  NOTHING_TO_ADOPT: {
    classes: ['needs_human'],
    whatHappened: 'the work of the step was to be adopted, and it is not done',
    check: 'make sure that the step may do its work now',
    action: 'retry_stage',
    who: 'operator',
  },
  HELD: {
    classes: ['needs_human'],
    whatHappened: 'an operator holds the operation',
    check: 'resolve the reason, which is in the history',
    action: 'resume',
    who: 'operator',
  },
  UNKNOWN_STEP_KIND: {
    classes: ['needs_human'],
    whatHappened: 'this server does not know a kind of step that the operation has',
    check: 'run a version of Ingot that knows it: all replicas should have the same',
    action: 'resume',
    who: 'admin',
  },
  INVALID_STEP_CONFIG: {
    classes: ['needs_human'],
    whatHappened: 'this server does not understand the configuration of the step',
    check: 'run a version of Ingot that understands it: all replicas should have the same',
    action: 'resume',
    who: 'admin',
  },
  UNKNOWN_PROVIDER: {
    classes: ['needs_human'],
    whatHappened: 'the provider of the machine is not in the configuration',
    check: 'put the provider into the configuration of every replica, and restart them',
    action: 'resume',
    who: 'admin',
  },
  CAPABILITY_MISSING: {
    classes: ['permanent', 'needs_human'],
    whatHappened: 'the provider of the machine lost a capability that the step needs',
    check: 'give the provider its section back in the configuration, or the machine the provider that it had',
    action: 'resume',
    who: 'admin',
    commands: [
      'name a plan without {step} (--plan), or a machine whose provider has {capability}; {provider} has not',
      '{ingot} plan list',
    ],
  },
  CREDENTIAL_UNREADABLE: {
    classes: ['needs_human'],
    whatHappened: 'a credential that the configuration names cannot be read',
    check: 'make the file or variable that the error names readable and well-formed',
    action: 'retry_stage',
    who: 'admin',
  },
  CREDENTIAL_SOURCE_UNAVAILABLE: {
    classes: ['retryable'],
    whatHappened: 'the Vault that has the credential does not answer, or is sealed',
    check: 'bring the Vault back, and unseal it',
    action: 'retry_stage',
    who: 'admin',
    waitedOut: true,
  },
  HOOK_FAILED: {
    classes: ['retryable', 'needs_human'],
    whatHappened: "the site's hook refused the request or did not answer",
    check: 'bring the service behind the hook back, or correct its url and token in the configuration',
    action: 'retry_stage',
    who: 'admin',
  },
  NOT_RETIRED: {
    classes: ['needs_human'],
    whatHappened: 'the machine went back into service, so it cannot be removed',
    check: 'drain it, so that it is retired',
    action: 'rerun',
    who: 'operator',
  },
} as const satisfies Record<string, FailureRow>;
