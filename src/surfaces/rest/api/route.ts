/**
 * How a REST route is described: once, beside the schemas that its input is checked with. The server registers its handlers
 * by these tables (serve-routes.ts), and docs/openapi.json and docs/rest-api.md are written from them.
 */
import type { z } from 'zod';
import type { Role } from '../../../domain/actor.ts';
import type { FailureCode } from '../../../domain/error/failure-code.ts';
import type { Reason } from '../../../domain/error/reason.ts';

/** Who may call a route. Those that are a role need an operator's token of that role or a higher one. */
export const CALLERS = {
  anyone: 'anyone, without a token',
  agent: 'an agent, with the token of its machine',
  'agent or operator': 'an agent, or an operator with any role',
  'any operator': 'an operator with any role',
  boot: 'the boot that installs, with its boot token',
  'boot or viewer': 'the boot that installs the image, or an operator with any role',
  machine: 'any machine; what an installation reports needs the token of its boot, if it was given one',
  viewer: 'an operator with the role viewer, operator or admin',
  operator: 'an operator with the role operator or admin',
  admin: 'an operator with the role admin',
} as const satisfies Record<Role, string> & Record<string, string>;

export type RouteCaller = keyof typeof CALLERS;

export interface QueryParameter {
  readonly description: string;
  readonly schema: z.ZodType;
  readonly required?: true;
}

export interface RouteBody {
  /** application/json without it. */
  readonly mediaType?: string;
  readonly schema: z.ZodType;
}

export interface RouteAnswer {
  readonly description: string;
  /** application/json without it. */
  readonly mediaType?: string;
  /** Absent where the answer is not JSON. */
  readonly schema?: z.ZodType;
}

export interface RestRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With :names for parameters and * for the rest of a path. */
  readonly path: `/${string}`;
  readonly caller: RouteCaller;
  readonly summary: string;
  /** What each :name in the path is; the rest of a path is `path`. */
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, QueryParameter>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: RouteBody;
  readonly maxBodyBytes?: number;
  readonly answers: Readonly<Record<number, RouteAnswer>>;
  /** Why it is refused, beside what every route of its kind has: a missing token, a low role, a wrong field. */
  readonly refusals?: readonly (Reason | FailureCode)[];
}

export type RouteTable = Readonly<Record<string, RestRoute>>;
