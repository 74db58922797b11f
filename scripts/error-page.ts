/** The page about errors, from the tables of reasons, classes, agents' errors and unreadable requests. */
import { status as GrpcStatus } from '@grpc/grpc-js';
import { EXIT_CODES, EXIT_OF_STATUS } from '../src/cli/errors/exit-code.ts';
import { FAULT_KINDS, type FaultKind } from '../src/domain/error/fault-kind.ts';
import { FIX_NAMES } from '../src/domain/error/fix-commands.ts';
import { REASON_GROUPS } from '../src/domain/error/reason.ts';
import { CLIENT_REASONS } from '../src/domain/error/reasons/client-reasons.ts';
import type { ReasonRow } from '../src/domain/error/reasons/reason-row.ts';
import { UNREADABLE_REQUESTS } from '../src/surfaces/bad-body.ts';
import { WIRE } from '../src/surfaces/fault-wire.ts';
import { AGENT_ERRORS } from '../src/surfaces/rest/agent-errors.ts';
import { REST_STATUS } from '../src/surfaces/rest/rest-errors.ts';
import { code, page, table } from './markdown.ts';

const NOTE =
  '<!-- Written by scripts/pages.ts from src/domain/error and src/surfaces. Change those, not this page. -->';

const KINDS = Object.keys(FAULT_KINDS) as FaultKind[];

export function errorPage(): string {
  return page([
    '# Errors',
    NOTE,
    'Programs branch on the reason, which is stable across releases; people read the message, whose words may change. How a step of an operation can fail is on a page of its own, [failures.md](failures.md).',
    '## Where to find the reason',
    table(
      ['surface', 'reason', 'more'],
      [
        [
          'gRPC',
          '`ErrorInfo.reason` in `grpc-status-details-bin`',
          '`ErrorInfo.metadata`; `RequestInfo.request_id`; `BadRequest` lists wrong fields, `PreconditionFailure` what blocks',
        ],
        ['Connect, gRPC-Web', '`ErrorInfo.reason` in `details`', 'the same details'],
        [
          'REST: nodes, images, workflows, pools',
          '`reason` in the body',
          '`detail` is the message; `errors` lists wrong fields; `machine_id` names the machine that has what was asked for',
        ],
        ['REST: agents', '`error_code` in the body', '[their own codes](#agents)'],
        ['`ingot`', 'in brackets after the message', 'lines that begin with `fix:`, and the exit code'],
      ],
    ),
    '## Classes',
    table(
      ['class', 'means', 'gRPC', 'Connect', 'REST', '`ingot` exits with'],
      KINDS.map((kind) => [
        code(kind),
        FAULT_KINDS[kind],
        `${GrpcStatus[WIRE[kind].grpc]} (${WIRE[kind].grpc})`,
        String(WIRE[kind].http),
        String(REST_STATUS[kind]),
        String(EXIT_CODES[EXIT_OF_STATUS[WIRE[kind].grpc]].code),
      ]),
    ),
    ...Object.entries(REASON_GROUPS).flatMap(([title, group]) => [`## ${title}`, reasonTable(group)]),
    '## Starts that could only fail',
    'A start that is known to fail is refused before anything is done: `failed_precondition`, with the [failure code](failures.md) of the step as its reason, such as `NO_BMC_ENDPOINT` or `IMAGE_NOT_FOUND`.',
    '## No server',
    'What `ingot` itself reports.',
    reasonTable(CLIENT_REASONS),
    '## Agents',
    'The body is `{"error_code": …, "message": …, "detail": …}`. With 503 comes `Retry-After`.',
    table(
      ['status', '`error_code`', '`message`', 'cause', 'fix'],
      Object.values(AGENT_ERRORS).map(({ status, errorCode, message, cause, fix }) => [
        String(status),
        errorCode === null ? 'none' : code(errorCode),
        message,
        cause,
        fix,
      ]),
    ),
    '## Requests that cannot be read',
    'The HTTP server refuses these before a route sees them, with 400, 413 or 415, and says one of these texts in `detail`. They have no reason.',
    [...new Set(Object.values(UNREADABLE_REQUESTS))].map((text) => `- ${text}`).join('\n'),
  ]);
}

function reasonTable(group: Readonly<Record<string, ReasonRow>>): string {
  return table(
    ['reason', 'class', 'answer', 'message', 'cause', 'fix'],
    Object.entries(group).map(([reason, row]) => [
      code(reason),
      kindsOf(row).map(code).join(', '),
      kindsOf(row).map(answerOf).join(', '),
      escaped(row.message),
      row.cause,
      [row.fix, ...(row.commands ?? []).map(shown).map(code)].join('<br>'),
    ]),
  );
}

function kindsOf({ kind, alsoPrecondition }: ReasonRow): FaultKind[] {
  return alsoPrecondition ? [kind, 'failed_precondition'] : [kind];
}

function answerOf(kind: FaultKind): string {
  return `${GrpcStatus[WIRE[kind].grpc]}, ${REST_STATUS[kind]}`;
}

function escaped(text: string): string {
  return text.replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** A command as a person types it: <name> is for them to fill in. */
function shown(command: string): string {
  return command.replace(/\{(\w+)\}/g, (_match, name: string) =>
    Object.hasOwn(FIX_NAMES, name) ? FIX_NAMES[name as keyof typeof FIX_NAMES] : `<${name}>`,
  );
}
