/** Turns an error into its message, its reason code and the commands that fix it. */

import { type FixValues, fillIn, fixCommands } from '../../domain/error/fix-commands.ts';
import { isPhaseGated, PHASE_GATED_TYPES } from '../../domain/operation/phase-gated-type.ts';
import { CallError } from '../connection/call-error.ts';
import { connectionProblem } from '../connection/connection-problem.ts';
import { status } from '../connection/status.ts';
import type { HintCommands } from '../operations/hint-commands.ts';
import { plainText } from '../output/plain-text.ts';
import { EXIT_OF_STATUS, type Exit } from './exit-code.ts';
import { SignInFailed } from './sign-in-failed.ts';
import { Declined, UsageError } from './usage-error.ts';

export interface ReportContext {
  readonly program: string;
  /** The commands of operations, or those of runs. */
  readonly commands: HintCommands;
  readonly address?: string | undefined;
  readonly tokenOrigin?: string | undefined;
  /** The server is, or would be, on this machine. */
  readonly isLocal?: boolean;
}

export interface ErrorReport {
  readonly exit: Exit;
  readonly message: string;
  /** The single mistakes, where the message does not name them. */
  readonly details: readonly string[];
  readonly fixes: readonly string[];
}

/** Leaving maintenance is the one operation that the phase itself makes needless. */
const NOT_IN_MAINTENANCE = [
  '{ingot} show {machine_id}   (it is not in maintenance: nothing to exit)',
] as const;

/** A reason that another version of the server knows has no fix here. */
function fixesFor({ reason, metadata }: CallError, context: ReportContext): string[] {
  const { program, commands, tokenOrigin = 'nowhere', address = 'the default' } = context;
  const own: FixValues = {
    ingot: program,
    list_operations: commands.list,
    show_operation: commands.show,
    watch_operation: commands.attach,
    cancel_operation: commands.cancel,
    operation: metadata.run_id ?? metadata.operation_id,
    token_origin: tokenOrigin,
    server_address: address,
    start_server: context.isLocal ? 'npm start' : undefined,
  };
  const values = { ...metadata, flag: metadata.flag?.toLowerCase(), ...own };
  const isNeedless = reason === 'WRONG_PHASE' && metadata.type === 'EXIT_MAINTENANCE';
  const fixes = isNeedless ? NOT_IN_MAINTENANCE : fixCommands(reason);
  return fixes.map((fix) => fillIn(fix, values)).filter((fix) => fix !== null);
}

function messageOf(error: CallError, { address }: ReportContext): string {
  const { phase, machine_id: id, type = '' } = error.metadata;
  if (error.reason === 'WRONG_PHASE' && phase !== undefined && id !== undefined && isPhaseGated(type)) {
    return `${id} is ${phase}; ${type} needs ${PHASE_GATED_TYPES[type].phases.join(' or ')}`;
  }
  if (error.reason === 'TLS_FAILED' && address !== undefined) {
    return `the server at ${address} can't be used: ${error.message}`;
  }
  if (error.code === status.UNAVAILABLE && error.reason === 'UNAVAILABLE') {
    // What a server with TLS does to a connection without.
    const isCut = error.message.includes('Last error: Failed to connect');
    const hint = isCut ? '; if the server has TLS, set INGOT_CA_FILE, or use grpcs://host:port' : '';
    return `no server answers at ${address ?? 'the given address'} (${connectionProblem(error.message)})${hint}`;
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
    const fixes = fixesFor(error, context).map(plainText);
    const details = [...violationsOf(error), ...adviceOf(error)];
    return { exit: EXIT_OF_STATUS[error.code] ?? 'failed', message, details, fixes };
  }
  if (error instanceof UsageError) {
    const details = error.details.map(plainText);
    return { exit: 'usage', message: plainText(error.message), details, fixes: [] };
  }
  const message = plainText(error instanceof Error ? error.message : String(error));
  return { exit: exitOf(error), message, details: [], fixes: [] };
}

function exitOf(error: unknown): Exit {
  if (error instanceof SignInFailed) return 'notAllowed';
  return error instanceof Declined ? 'canceled' : 'failed';
}

/** The fields that the server rejects, unless its message names them already. */
function violationsOf({ code, message, violations }: CallError): string[] {
  if (code !== status.INVALID_ARGUMENT) return [];
  return violations
    .filter(({ subject, description }) => !message.includes(subject) || !message.includes(description))
    .map(({ subject, description }) => plainText(`${subject}: ${description}`));
}

/** What the server says of the failure behind the refusal. */
function adviceOf({ metadata: { code = '', check = '' } }: CallError): string[] {
  return check === '' ? [] : [plainText(`${code}: ${check}`)];
}

export function reportLines({ message, details, fixes }: ErrorReport): string[] {
  return [
    `error: ${message}`,
    ...details.map((detail) => `  ${detail}`),
    ...fixes.map((fix) => `  fix: ${fix}`),
  ];
}
