/** Turns what went wrong into what a person needs: the fact, its reason code, and the command that fixes it. */
import { status } from '@grpc/grpc-js';
import { isPhaseGated, PHASE_GATED_TYPES } from '../../domain/operation/phase-gated-type.ts';
import { CallError } from '../connection/call-error.ts';
import type { OperationSource } from '../operations/operation-source.ts';
import { plainText } from '../output/plain-text.ts';
import { EXIT_OF_STATUS, type Exit } from './exit-code.ts';
import { Declined, UsageError } from './usage-error.ts';

export interface ReportContext {
  readonly program: string;
  /** Those of what the command speaks of: operations, or runs. */
  readonly commands: OperationSource['commands'];
  readonly address?: string | undefined;
  readonly tokenOrigin?: string | undefined;
}

export interface ErrorReport {
  readonly exit: Exit;
  readonly message: string;
  /** What is wrong in particular, where the message does not say. */
  readonly details: readonly string[];
  readonly fixes: readonly string[];
}

type Fix = (error: CallError, context: ReportContext) => readonly string[];

const listMachines: Fix = (_error, { program }) => [`${program} list`];
const listOperations: Fix = (_error, { program, commands }) => [`${program} ${commands.list}`];
const anotherPlanId: Fix = ({ metadata: { plan_id: id } }, { program }) => [
  'use a new plan_id',
  ...(id === undefined ? [] : [`${program} plan show ${id}   (what it is now)`]),
];

/** As the API that was called spells it. */
function operationIdOf({ metadata: { run_id: runId, operation_id: id } }: CallError): string | undefined {
  return runId ?? id;
}

/** What a start needs of the machine's spec, and the option that gives it. */
const setSpec =
  (option: string): Fix =>
  ({ metadata: { machine_id: id } }, { program }) =>
    id === undefined ? [] : [`${program} update ${id} ${option}`];

/** The machine that has what this one claims. */
const showHolder: Fix = ({ metadata: { machine_id: id } }, { program }) =>
  id === undefined ? [] : [`${program} show ${id}`];

/** A reason that has no entry is told as the server told it. */
const FIXES: Readonly<Record<string, Fix>> = {
  MACHINE_NOT_FOUND: listMachines,
  OPERATION_NOT_FOUND: listOperations,
  WRONG_PHASE: fixWrongPhase,
  OPERATION_ACTIVE: (error, { program, commands: { attach, cancel } }) => {
    const id = operationIdOf(error);
    if (id === undefined) return [];
    return [`${program} ${attach} ${id}   (wait for it)`, `${program} ${cancel} ${id}`];
  },
  OPERATION_FINISHED: (error, { program, commands: { list, show } }) => {
    const id = operationIdOf(error);
    return id === undefined ? [`${program} ${list}`] : [`${program} ${show} ${id}`];
  },
  MAC_ADDRESS_TAKEN: showHolder,
  BMC_ENDPOINT_TAKEN: showHolder,
  SSH_ENDPOINT_TAKEN: showHolder,
  MACHINE_BLOCKED: ({ metadata: { machine_id: id, flag } }, { program }) =>
    id === undefined || flag === undefined
      ? []
      : [`${program} unflag ${id} ${flag.toLowerCase()} --reason "…"   (admin)`],
  POOL_NOT_FOUND: (_error, { program }) => [
    `${program} pool list`,
    `${program} pool create <name>   (admin)`,
  ],
  POOL_EXISTS: (_error, { program }) => [`${program} pool list`],
  PLAN_NOT_FOUND: (_error, { program }) => [`${program} plan list`],
  PLAN_REFERENCED: anotherPlanId,
  PLAN_BUILT_IN: anotherPlanId,
  CAPABILITY_MISSING: fixMissingCapability,
  NO_TARGET_CLUSTER: setSpec('--cluster <name>'),
  UNKNOWN_CLUSTER: setSpec('--cluster <name>'),
  NO_BMC_ENDPOINT: setSpec('--bmc-endpoint <host[:port]>'),
  REDFISH_NOT_SUPPORTED: setSpec('--bmc-endpoint <host[:port]>'),
  NO_SSH_ENDPOINT: setSpec('--ssh-endpoint <host[:port]>'),
  NO_MAC_ADDRESS: setSpec('--mac <address>'),
  REQUEST_ID_REUSED: () => ['give another --request-id, or leave it out to have one made'],
  TOKEN_NAME_TAKEN: (_error, { program }) => [`${program} token list`],
  TOKEN_NOT_FOUND: (_error, { program }) => [`${program} token list`],
  UNAUTHENTICATED: (_error, { tokenOrigin = 'nowhere' }) => [
    `set INGOT_TOKEN or --token-file, or run this where the server keeps its data (token from: ${tokenOrigin})`,
  ],
  PERMISSION_DENIED: (_error, { program }) => [
    `use a token with a higher role; an admin makes one: ${program} token create <name> --role operator|admin`,
  ],
  WRONG_SERVICE_STATE: ({ metadata: { machine_id: id } }, { program }) =>
    id === undefined ? [] : [`${program} explain ${id}`],
  UPSTREAM_DISAGREES: ({ metadata: { machine_id: id } }, { program }) =>
    id === undefined
      ? []
      : [`${program} explain ${id}`, `${program} service ${id} active --force --reason "…"`],
  QUARANTINED_BY_PERSON: ({ metadata: { machine_id: id } }, { program }) =>
    id === undefined ? [] : [`${program} explain ${id}`],
  ACTION_NOT_APPLICABLE: ({ metadata: { operation_id: id } }, { program }) =>
    id === undefined ? [] : [`${program} op show ${id}`],
  NODE_NOT_FOUND: ({ metadata: { id } }, { program }) => [
    `${program} node list`,
    ...(id === undefined ? [] : [`${program} show ${id}   (a machine that does not boot from the network)`]),
  ],
  IMAGE_NOT_FOUND: (_error, { program }) => [`${program} image list`],
  WORKFLOW_NOT_FOUND: (_error, { program }) => [`${program} workflow list`],
  INSTALL_ATTEMPTS_EXHAUSTED: (_error, { program }) => [
    `${program} node state <node-id> pending --force [--workflow <another>]`,
  ],
  HTTP_UNAVAILABLE: () => ['npm start', 'or set INGOT_HTTP_URL=http://host:port'],
  UNAVAILABLE: (_error, { address }) => [
    'npm start',
    `or set INGOT_SERVER=host:port (tried ${address ?? 'the default'})`,
  ],
};

function fixWrongPhase({ metadata }: CallError, { program }: ReportContext): readonly string[] {
  const { machine_id: id, type } = metadata;
  if (id === undefined) return [];
  if (type === 'EXIT_MAINTENANCE')
    return [`${program} show ${id}   (it is not in maintenance: nothing to exit)`];
  return [`${program} enter-maintenance ${id}`];
}

function fixMissingCapability({ metadata }: CallError, { program }: ReportContext): readonly string[] {
  const { step, capability, provider } = metadata;
  if (step === undefined || capability === undefined || provider === undefined) return [];
  return [
    `name a plan without ${step} (--plan), or a machine whose provider has ${capability}; ${provider} has not`,
    `${program} plan list`,
  ];
}

function messageOf(error: CallError, { address }: ReportContext): string {
  const { phase, machine_id: id, type = '' } = error.metadata;
  if (error.reason === 'WRONG_PHASE' && phase !== undefined && id !== undefined && isPhaseGated(type)) {
    return `${id} is ${phase}; ${type} needs ${PHASE_GATED_TYPES[type].phases.join(' or ')}`;
  }
  if (error.code === status.UNAVAILABLE && error.reason === 'UNAVAILABLE') {
    return `no server answers at ${address ?? 'the given address'} (${error.message})`;
  }
  if (error.code === status.DEADLINE_EXCEEDED) return `the server at ${address} did not answer in time`;
  const { request_id: requestId } = error.metadata;
  if (requestId !== undefined && error.code === status.INTERNAL && !error.message.includes(requestId)) {
    return `${error.message} (request id ${requestId})`;
  }
  return error.message;
}

export function reportOf(error: unknown, context: ReportContext): ErrorReport {
  if (error instanceof CallError) {
    const message = `${plainText(messageOf(error, context))} [${plainText(error.reason)}]`;
    const fixes = (FIXES[error.reason]?.(error, context) ?? []).map(plainText);
    return { exit: EXIT_OF_STATUS[error.code] ?? 'failed', message, details: violationsOf(error), fixes };
  }
  if (error instanceof UsageError) {
    const details = error.details.map(plainText);
    return { exit: 'usage', message: plainText(error.message), details, fixes: [] };
  }
  const message = plainText(error instanceof Error ? error.message : String(error));
  return { exit: error instanceof Declined ? 'canceled' : 'failed', message, details: [], fixes: [] };
}

/** The fields that the server complains about, unless its message is the complaint. */
function violationsOf({ code, message, violations }: CallError): string[] {
  if (code !== status.INVALID_ARGUMENT) return [];
  return violations
    .filter(({ subject, description }) => !message.includes(subject) || !message.includes(description))
    .map(({ subject, description }) => plainText(`${subject}: ${description}`));
}

export function reportLines({ message, details, fixes }: ErrorReport): string[] {
  return [
    `error: ${message}`,
    ...details.map((detail) => `  ${detail}`),
    ...fixes.map((fix) => `  fix: ${fix}`),
  ];
}
