/** Which route of a simulated BMC a request is for. */
import { NOUNS } from './resources/nouns.ts';
import { CHASSIS, MANAGER, type Routes } from './simulated-noun.ts';
import type { RedfishSimulator } from './simulator.ts';

interface FoundRoute {
  readonly answer: Routes[string];
  readonly parameters: Readonly<Record<string, string>>;
}

/** Undefined: there is none. */
export function findRoute(
  { systemPath }: RedfishSimulator,
  of: 'open' | 'routes',
  method: string,
  path: string,
): FoundRoute | undefined {
  const places: Readonly<Record<string, string>> = { system: systemPath, chassis: CHASSIS, manager: MANAGER };
  for (const noun of NOUNS)
    for (const [route, answer] of Object.entries(noun[of] ?? {})) {
      const [routeMethod, pattern = ''] = route.split(' ');
      if (routeMethod !== method) continue;
      const parameters = fitting(
        pattern.replace(/\{(\w+)\}/, (_all, name: string) => places[name] ?? name),
        path,
      );
      if (parameters) return { answer, parameters };
    }
  return undefined;
}

/** What stands for each `:name`; null: it does not fit. */
function fitting(pattern: string, path: string): Record<string, string> | null {
  if (pattern === '*') return {};
  const wanted = pattern.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return null;
  const parameters: Record<string, string> = {};
  for (const [index, segment] of wanted.entries()) {
    const found = given[index] ?? '';
    if (segment.startsWith(':')) parameters[segment.slice(1)] = decodeURIComponent(found);
    else if (segment !== found) return null;
  }
  return parameters;
}
