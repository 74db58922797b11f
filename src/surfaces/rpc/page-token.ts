/** Opaque tokens for pages and cursors. A page token is good only for the list, filter and scope that it came from. */
import { createHash } from 'node:crypto';
import type { Scope } from '../../domain/access/scope.ts';
import { Fault, invalidField } from '../../domain/error/fault.ts';

const DEFAULT_PAGE = 100;
export const MAX_PAGE = 1000;
/** Lists are ordered by id. */
const KEY = /^[\x21-\x7e]{1,128}$/;

export function pageSize(asked: number): number {
  if (asked < 0) throw invalidField('page_size', 'must not be negative');
  return asked === 0 ? DEFAULT_PAGE : Math.min(asked, MAX_PAGE);
}

export interface PagedList {
  readonly list: string;
  readonly filter: string;
  /** The caller's. */
  readonly scope: Scope | null;
}

function digestOf({ list, filter, scope }: PagedList): string {
  const terms = scope === null ? '' : `\n${JSON.stringify(scope.terms)}`;
  return createHash('sha256').update(`${list}\n${filter}${terms}`).digest('base64url').slice(0, 8);
}

export function pageToken(paged: PagedList, after: string | null): string {
  if (after === null) return '';
  return Buffer.from(JSON.stringify([digestOf(paged), after])).toString('base64url');
}

/** The last key of the previous page; empty without a token. */
export function readPageToken(paged: PagedList, token: string): string {
  if (token === '') return '';
  const parts = parseJson(token);
  if (Array.isArray(parts) && parts.length === 2 && typeof parts[1] === 'string' && KEY.test(parts[1])) {
    if (parts[0] === digestOf(paged)) return parts[1];
    throw invalidToken('page_token', 'INVALID_PAGE_TOKEN', 'belongs to another list or filter');
  }
  throw invalidToken('page_token', 'INVALID_PAGE_TOKEN', 'is not a token that this server gave out');
}

/** The same for lists ordered by number; null without a token. */
export function readPosition(paged: PagedList, token: string): number | null {
  const after = readPageToken(paged, token);
  if (after === '') return null;
  if (/^\d{1,15}$/.test(after)) return Number(after);
  throw invalidToken('page_token', 'INVALID_PAGE_TOKEN', 'is not a token that this server gave out');
}

/** The log, or the rollout, that a cursor is a position in; it is valid for no other. */
type CursorKind = 'events' | 'log' | `rollout/${string}`;

export function cursorOf(kind: CursorKind, position: readonly [number, number]): string {
  return Buffer.from(JSON.stringify([kind, ...position])).toString('base64url');
}

export function readCursor(kind: CursorKind, cursor: string): readonly [number, number] | null {
  if (cursor === '') return null;
  const parts = parseJson(cursor);
  if (Array.isArray(parts) && parts.length === 3) {
    const [found, first, second] = parts as unknown[];
    if (found === kind && isPosition(first) && isPosition(second)) return [first, second];
  }
  throw invalidToken('cursor', 'INVALID_CURSOR', 'is not a cursor that this call gave out');
}

function isPosition(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function parseJson(token: string): unknown {
  if (token.length > 1024 || !/^[A-Za-z0-9_-]+$/.test(token)) return null;
  try {
    return JSON.parse(Buffer.from(token, 'base64url').toString('utf8'));
  } catch {
    // Not JSON, so not a token of this server; the caller reports it.
    return null;
  }
}

function invalidToken(
  field: string,
  reason: 'INVALID_PAGE_TOKEN' | 'INVALID_CURSOR',
  description: string,
): Fault {
  return new Fault(reason, {
    message: `${field}: ${description}`,
    metadata: { field },
    violations: [{ subject: field, description }],
  });
}
