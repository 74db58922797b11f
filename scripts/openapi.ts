/** docs/openapi.json: OpenAPI 3.1, from the tables by which the server registers its REST routes. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { isRole } from '../src/domain/actor.ts';
import { FAILURES } from '../src/domain/error/failure-code.ts';
import type { FaultKind } from '../src/domain/error/fault-kind.ts';
import { REASONS, type Reason } from '../src/domain/error/reason.ts';
import { packageRoot } from '../src/package-root.ts';
import { REST_API } from '../src/surfaces/rest/api/rest-api.ts';
import {
  CALLERS,
  type QueryParameter,
  type RestRoute,
  type RouteAnswer,
} from '../src/surfaces/rest/api/route.ts';
import { REST_STATUS } from '../src/surfaces/rest/rest-errors.ts';

type Json = Record<string, unknown>;

export interface ListedRoute {
  readonly tag: string;
  readonly route: RestRoute;
  readonly error: z.ZodType;
}

export function listedRoutes(): ListedRoute[] {
  return Object.entries(REST_API).flatMap(([tag, { routes, error }]) =>
    Object.values(routes).map((route: RestRoute) => ({ tag, route, error })),
  );
}

export function openApiDocument(): string {
  const schemas: Json = {};
  const paths: Record<string, Json> = {};
  for (const listed of listedRoutes()) {
    const path = openApiPath(listed.route.path);
    paths[path] ??= {};
    Object.assign(paths[path], {
      [listed.route.method.toLowerCase()]: operationOf(listed, schemas),
    });
  }
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Ingot REST API',
      version: (JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as Json).version,
      description: 'Clients ignore fields that they do not know. Errors are in docs/errors.md.',
    },
    tags: Object.keys(REST_API).map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas,
    },
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

export function openApiPath(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}').replace('*', '{path}');
}

function operationOf({ tag, route, error }: ListedRoute, schemas: Json): Json {
  const { caller, summary, body } = route;
  return {
    tags: [tag],
    operationId: operationIdOf(route),
    summary,
    description: `For ${CALLERS[caller]}.`,
    ...(caller === 'anyone'
      ? {}
      : { security: caller === 'machine' ? [{}, { token: [] }] : [{ token: [] }] }),
    parameters: parametersOf(route, schemas),
    ...(body && {
      requestBody: {
        required: true,
        content: {
          [body.mediaType ?? 'application/json']: {
            schema:
              body.mediaType === undefined
                ? schemaOf(body.schema, 'input', schemas)
                : { type: 'string', format: 'binary' },
          },
        },
      },
    }),
    responses: {
      ...Object.fromEntries(
        Object.entries(route.answers).map(([status, answer]) => [status, responseOf(answer, schemas)]),
      ),
      ...refusalsOf({ tag, route, error }, schemas),
    },
  };
}

/** getNodesById for GET /api/v1/nodes/:id. */
function operationIdOf({ method, path }: RestRoute): string {
  const words = path
    .replace('/api/v1', '')
    .split(/[/.-]/)
    .filter((word) => word !== '')
    .map((word) => (word === '*' ? 'path' : word.replace(':', 'by_')));
  return [method.toLowerCase(), ...words]
    .join('_')
    .replace(/_(\w)/g, (_match, letter: string) => letter.toUpperCase());
}

function parametersOf({ params = {}, query = {}, headers = {} }: RestRoute, schemas: Json): Json[] {
  return [
    ...Object.entries(params).map(([name, description]) => ({
      name: name === '*' ? 'path' : name,
      in: 'path',
      required: true,
      description,
      schema: { type: 'string' },
    })),
    ...Object.entries(query).map(([name, parameter]: [string, QueryParameter]) => ({
      name,
      in: 'query',
      required: parameter.required ?? false,
      description: parameter.description,
      schema: schemaOf(parameter.schema, 'input', schemas),
    })),
    ...Object.entries(headers).map(([name, description]) => ({
      name,
      in: 'header',
      required: false,
      description,
      schema: { type: 'string' },
    })),
  ];
}

function responseOf({ description, mediaType, schema }: RouteAnswer, schemas: Json): Json {
  if (schema)
    return { description, content: { 'application/json': { schema: schemaOf(schema, 'output', schemas) } } };
  return {
    description,
    content: { [mediaType ?? 'application/json']: { schema: { type: 'string', format: 'binary' } } },
  };
}

/** The reasons of a route by status; what every route of its kind can answer is among them. */
export function reasonsByStatus(route: RestRoute): Map<number, string[]> {
  const common: Reason[] = [
    ...(isRole(route.caller) ? (['UNAUTHENTICATED', 'PERMISSION_DENIED'] as const) : []),
    ...(isRole(route.caller) && (route.body || route.query) ? (['INVALID_FIELD'] as const) : []),
  ];
  const byStatus = new Map<number, string[]>();
  for (const reason of new Set([...common, ...(route.refusals ?? [])])) {
    const status = REST_STATUS[kindOf(reason, route)];
    byStatus.set(status, [...(byStatus.get(status) ?? []), reason]);
  }
  return byStatus;
}

/** A failure code says what the request depends on; so does one that is also a reason, unless it is looked up by name. */
function kindOf(reason: string, route: RestRoute): FaultKind {
  const isSought =
    Object.hasOwn(REASONS, reason) && !(Object.hasOwn(FAILURES, reason) && route.method === 'PATCH');
  return isSought || reason === 'NODE_NOT_FOUND' ? REASONS[reason as Reason].kind : 'failed_precondition';
}

function refusalsOf({ tag, route, error }: ListedRoute, schemas: Json): Json {
  const schema = schemaOf(error, 'output', schemas);
  const content = { 'application/json': { schema } };
  if (tag === 'Agents') return { default: { description: 'Refused: see docs/errors.md#agents.', content } };
  return Object.fromEntries(
    [...reasonsByStatus(route)]
      .filter(([status]) => !Object.hasOwn(route.answers, status))
      .map(([status, reasons]) => [status, { description: reasons.join(', '), content }]),
  );
}

/** The schema in JSON; those that have an id go to the components. */
export function schemaOf(schema: z.ZodType, io: 'input' | 'output', components: Json): Json {
  const { properties, $defs } = z.toJSONSchema(z.object({ value: schema }), {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      delete jsonSchema.id;
      // Answers may get more fields in later versions.
      if (io === 'output') delete jsonSchema.additionalProperties;
    },
  }) as unknown as { properties: { value: Json }; $defs?: Json };
  for (const [name, definition] of Object.entries($defs ?? {})) components[name] = located(definition);
  return located(properties.value) as Json;
}

function located(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'));
}
