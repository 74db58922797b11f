/** docs/rest-api.md: the REST routes for people, from the same tables as docs/openapi.json. */
import { CALLERS, type RestRoute } from '../src/surfaces/rest/api/route.ts';
import { code, page, table } from './markdown.ts';
import { type ListedRoute, listedRoutes, openApiPath, reasonsByStatus, schemaOf } from './openapi.ts';

type Json = Record<string, unknown>;

const NOTE =
  '<!-- Written by scripts/pages.ts from the tables in src/surfaces/rest/api. Change those, not this page. -->';

export function restPage(): string {
  const routes = listedRoutes();
  const tags = [...new Set(routes.map(({ tag }) => tag))];
  return page([
    '# REST API',
    NOTE,
    'The routes of the HTTP port. [openapi.json](openapi.json) has them for programs. What nodes do is in [nodes.md](nodes.md), what agents do in [agents.md](agents.md); the reasons of refusals are in [errors.md](errors.md). An operator sends `Authorization: Bearer <token>`.',
    '## Callers',
    table(
      ['caller', 'who that is'],
      Object.entries(CALLERS).map(([caller, who]) => [caller, who]),
    ),
    ...tags.flatMap((tag) => [
      `## ${tag}`,
      ...routes.filter((listed) => listed.tag === tag).flatMap(routeParts),
    ]),
  ]);
}

function routeParts({ route, tag }: ListedRoute): string[] {
  const parameters = parameterRows(route);
  const fields = fieldRows(route);
  return [
    `### ${code(`${route.method} ${openApiPath(route.path)}`)}`,
    `${route.summary}. Caller: ${route.caller}.`,
    ...(parameters.length === 0 ? [] : [table(['parameter', 'in', 'value', 'meaning'], parameters)]),
    ...(fields.length === 0 ? [] : [table(['field of the body', 'value', 'required', 'meaning'], fields)]),
    ...(route.body?.mediaType ? [`The body is ${code(route.body.mediaType)}.`] : []),
    [...answerLines(route), ...refusalLines(route, tag)].join('\n'),
  ];
}

function parameterRows({ params = {}, query = {}, headers = {} }: RestRoute): string[][] {
  return [
    ...Object.entries(params).map(([name, meaning]) => [
      code(name === '*' ? 'path' : name),
      'path',
      'string',
      meaning,
    ]),
    ...Object.entries(query).map(([name, { schema, description, required }]) => [
      code(name),
      'query',
      typeText(schemaOf(schema, 'input', {})),
      required ? `${description} Required.` : description,
    ]),
    ...Object.entries(headers).map(([name, meaning]) => [code(name), 'header', 'string', meaning]),
  ];
}

function fieldRows({ body }: RestRoute): string[][] {
  if (!body || body.mediaType) return [];
  const schema = schemaOf(body.schema, 'input', {});
  const required = new Set((schema.required ?? []) as string[]);
  return Object.entries((schema.properties ?? {}) as Record<string, Json>).map(([name, field]) => [
    code(name),
    typeText(field),
    required.has(name) ? 'yes' : 'no',
    describedIn(field),
  ]);
}

function describedIn(field: Json): string {
  const own = field.description ?? '';
  const inner = ((field.anyOf ?? []) as Json[]).map(({ description }) => description ?? '').join(' ');
  return [own, inner, 'default' in field ? `Default ${code(JSON.stringify(field.default))}.` : '']
    .filter((text) => String(text).trim() !== '')
    .join(' ')
    .trim();
}

function typeText(schema: Json): string {
  if (Array.isArray(schema.anyOf)) return (schema.anyOf as Json[]).map(typeText).join(' or ');
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => code(String(value))).join(', ');
  if (schema.type === 'array') return `list of ${typeText((schema.items ?? {}) as Json)}`;
  if (schema.type === 'integer') return `whole number${rangeOf(schema)}`;
  return Array.isArray(schema.type) ? schema.type.join(' or ') : String(schema.type ?? 'any');
}

function rangeOf({ minimum, maximum }: Json): string {
  const isWide = maximum === undefined || maximum === Number.MAX_SAFE_INTEGER;
  if (typeof minimum !== 'number' || minimum < 0) return '';
  return isWide ? ` from ${minimum}` : ` from ${minimum} to ${maximum}`;
}

function answerLines({ answers }: RestRoute): string[] {
  return Object.entries(answers).map(
    ([status, { description, mediaType }]) =>
      `- ${status}: ${description}${mediaType === undefined ? '' : ` (${code(mediaType)})`}`,
  );
}

function refusalLines(route: RestRoute, tag: string): string[] {
  if (tag === 'Agents') return ['- refused: see [errors.md](errors.md#agents)'];
  return [...reasonsByStatus(route)]
    .toSorted(([one], [other]) => one - other)
    .map(([status, reasons]) => `- ${status}: ${reasons.map(code).join(', ')}`);
}
