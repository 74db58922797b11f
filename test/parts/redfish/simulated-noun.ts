/**
 * A noun of a simulated BMC: its routes, and what other resources say of it. To add one: a file in resources/ that exports a SimulatedNoun,
 * its row in resources/nouns.ts, and its state as a field of the simulator.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { RedfishSimulator } from './simulator.ts';

export type Body = Readonly<Record<string, unknown>>;

export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface SimulatedRequest {
  readonly bmc: RedfishSimulator;
  readonly method: string;
  readonly path: string;
  /** What stood in place of `:name` in the route's path. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly raw: Buffer;
  /** JSON; empty: an object without fields. */
  readonly body: Body;
}

/** Null: there is no such resource. */
type Answering = (request: SimulatedRequest) => Answer | null | Promise<Answer | null>;

/**
 * `GET {system}/Settings` and the like: `{system}` is the path of the machine's system, `{chassis}` and `{manager}` those of its chassis
 * and manager, `:name` one segment. The first route of the first noun that fits counts.
 */
export type Routes = Readonly<Record<string, Answering>>;

/** Resources of one that others add fields to. */
export type Extended = 'root' | 'system' | 'chassis' | 'manager' | 'updateService';

export interface SimulatedNoun {
  readonly routes: Routes;
  /** Routes that need no login. */
  readonly open?: Routes;
  /** Fields that it adds to resources of others. Objects are merged. */
  readonly adds?: Partial<Record<Extended, (bmc: RedfishSimulator) => Body>>;
}

export const CHASSIS = '/redfish/v1/Chassis/1';
export const MANAGER = '/redfish/v1/Managers/1';
export const link = (path: string) => ({ '@odata.id': path });

export function ok(body: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status: 200, body, headers };
}

export function failure(status: number, messageId: string, message: string): Answer {
  const info = { MessageId: messageId, Message: message, Severity: 'Critical', Resolution: 'None.' };
  const error = {
    code: 'Base.1.8.GeneralError',
    message: 'See ExtendedInfo.',
    '@Message.ExtendedInfo': [info],
  };
  return { status, body: { error } };
}

/** The answer to a reset or change that was accepted, as the vendor gives it. */
export function success({ shape }: RedfishSimulator): Answer {
  switch (shape.success) {
    case 'no content':
      return { status: 204 };
    case 'error-shaped':
      return { ...failure(200, 'Base.1.4.Success', 'Successfully completed request.'), status: 200 };
    case 'task': {
      const location = '/redfish/v1/TaskService/Tasks/1/Monitor';
      return { status: 202, body: link('/redfish/v1/TaskService/Tasks/1'), headers: { location } };
    }
  }
}

/** A resource with its version, in the header as the vendor has it. */
export function versioned({ shape: { etag } }: RedfishSimulator, body: Body, number: number): Answer {
  if (etag === 'none') return ok(body);
  if (etag === 'gzip') return ok(body, { etag: `"${number}-gzip"` });
  const version = `"${number}"`;
  return ok({ ...body, '@odata.etag': version }, { etag: etag === 'weak' ? `W/${version}` : version });
}

/** Why a change is refused for its If-Match; null: it is not. */
export function preconditionFailure({ bmc, headers }: SimulatedRequest, number: number): Answer | null {
  const match = headers['if-match'];
  if (bmc.shape.needsIfMatch && match === undefined)
    return failure(428, 'Base.1.8.PreconditionRequired', 'If-Match is required.');
  // If-Match compares strongly (RFC 9110): a weak version never matches.
  const isOther = match !== undefined && match !== '*' && match !== `"${number}"`;
  if (bmc.fault === 'other-version' || (isOther && bmc.shape.etag !== 'none'))
    return failure(412, 'Base.1.8.PreconditionFailed', 'The ETag does not match.');
  return null;
}

/** A collection, by pages, and whole where the query asks for it and the vendor offers it. */
export function collection(
  { bmc, path, query }: SimulatedRequest,
  members: readonly string[],
  bodyOf: (path: string) => unknown,
): Answer {
  const { pageOf, expand } = bmc.shape;
  const skip = Number(query.get('$skip') ?? 0);
  const isWhole = expand === 'offered' && query.has('$expand');
  const rest = skip + pageOf < members.length ? `${path}?$skip=${skip + pageOf}` : null;
  if (bmc.fault === 'bad-members')
    return ok({ '@odata.id': path, Name: 'Collection', Members: members.map(() => 7) });
  if (bmc.fault === 'other-host')
    return ok({
      '@odata.id': path,
      Name: 'Collection',
      Members: [],
      'Members@odata.nextLink': '/\\elsewhere.invalid/redfish/v1/Chassis',
    });
  const more = rest === null ? {} : { 'Members@odata.nextLink': isWhole ? `${rest}&$expand=.` : rest };
  return ok({
    '@odata.id': path,
    Name: 'Collection',
    'Members@odata.count': members.length,
    Members: members.slice(skip, skip + pageOf).map((id) => (isWhole ? bodyOf(id) : link(id))),
    ...more,
  });
}
