/**
 * Which folder may import which. A missing entry is an import that the architecture does not have; an entry that no
 * file uses is a promise that is kept for nothing. Both fail. Tests and fixtures may import what they need.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path/posix';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

const MAY_IMPORT = {
  /** Everyone may import it. */
  'src/time': [],
  'src/domain': [],
  /** What is signed: the hash chain over the event log, certificates. For the server that signs and for the client that verifies. */
  'src/audit': ['src/domain'],
  'src/engine': ['src/domain'],
  'src/providers': ['src/domain', 'src/engine'],
  'src/issuers': [],
  'src/connections': ['src/domain', 'src/engine'],
  'src/hosts': ['src/domain', 'src/engine', 'src/providers', 'src/connections'],
  'src/redfish': ['src/domain', 'src/engine', 'src/connections'],
  'src/clusters': ['src/domain', 'src/engine', 'src/providers', 'src/connections'],
  'src/providers/fake': ['src/domain', 'src/engine', 'src/providers'],
  'src/providers/generic': ['src/providers'],
  'src/providers/datacenter': [
    'src/domain',
    'src/engine',
    'src/providers',
    'src/connections',
    'src/hosts',
    'src/clusters',
    'src/redfish',
  ],
  'src/providers/maas': [
    'src/domain',
    'src/engine',
    'src/providers',
    'src/connections',
    'src/hosts',
    'src/clusters',
  ],
  'src/store': ['src/domain', 'src/audit', 'src/engine', 'src/providers', 'src/providers/fake'],
  'src/steps': ['src/domain', 'src/engine', 'src/providers', 'src/hosts'],
  'src/operations': [
    'src/domain',
    'src/audit',
    'src/engine',
    'src/providers',
    'src/connections',
    'src/store',
    'src/steps',
  ],
  'src/reconcilers': ['src/domain', 'src/engine', 'src/providers', 'src/store', 'src/operations'],
  'src/surfaces': [
    'src/domain',
    'src/audit',
    'src/gen',
    'src/connections',
    'src/issuers',
    'src/store',
    'src/operations',
  ],
  'src/server': [
    'src/domain',
    'src/audit',
    'src/engine',
    'src/providers',
    'src/providers/fake',
    'src/providers/generic',
    'src/providers/datacenter',
    'src/providers/maas',
    'src/connections',
    'src/clusters',
    'src/store',
    'src/steps',
    'src/operations',
    'src/reconcilers',
    'src/surfaces',
    'src/secret-file.ts',
    'src/package-root.ts',
  ],
  'src/client': ['src/domain', 'src/gen'],
  'src/cli': [
    'src/domain',
    'src/issuers',
    'src/audit',
    'src/client',
    'src/gen',
    'src/secret-file.ts',
    'src/package-root.ts',
  ],
  'src/agent': ['src/domain', 'src/secret-file.ts'],
  'src/installer': ['src/domain', 'src/cli'],
  'src/netboot': ['src/domain', 'src/cli'],
  'src/certificates': ['src/cli'],
  'src/main.ts': ['src/cli', 'src/program-commands.ts'],
  'src/program-commands.ts': [
    'src/cli',
    'src/agent',
    'src/certificates',
    'src/installer',
    'src/netboot',
    'src/server',
    'src/package-root.ts',
  ],
  'src/package-root.ts': [],
  'src/secret-file.ts': [],
  'src/gen': [],
  console: ['src/client', 'src/domain', 'src/gen'],
} as const satisfies Record<string, readonly string[]>;

type Area = keyof typeof MAY_IMPORT;

/** Folders that import less than the folder that they are in. */
const INNER = {
  'src/store/database': ['src/domain', 'src/engine'],
  'src/store/embedded': [],
  'src/store/schema': ['src/store/database'],
} as const satisfies Record<string, readonly string[]>;

/** What runs on an operator's computer, in a browser or on a machine, and what must not be a part of it. */
const CLIENTS = [
  'src/client',
  'src/cli',
  'src/agent',
  'src/installer',
  'src/netboot',
  'src/certificates',
  'console',
] as const;
const SERVER: readonly string[] = [
  'src/engine',
  'src/providers',
  'src/store',
  'src/steps',
  'src/operations',
  'src/reconcilers',
  'src/surfaces',
  'src/server',
] satisfies readonly Area[];

interface Import {
  readonly from: string;
  readonly to: string;
}

const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+)'/g;

function importsOfProduction(): Import[] {
  const files = execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', 'src', 'console'],
    {
      cwd: root,
      encoding: 'utf8',
    },
  )
    .split('\n')
    .filter((file) => /\.tsx?$/.test(file) && !/\.(test|fixture)\.tsx?$/.test(file));
  return files.flatMap((from) =>
    [...readFileSync(join(root, from), 'utf8').matchAll(IMPORT)].map(([, specifier = '']) => ({
      from,
      to: normalize(join(dirname(from), specifier)),
    })),
  );
}

/**
 * The entry of the table that a file belongs to: itself, its folder in src, or the console. Each provider has an entry
 * of its own, so that a provider that imports another one is seen.
 */
function areaOf(file: string): Area {
  const [top = '', folder = '', inner = '', ...rest] = file.split('/');
  const isProvider = folder === 'providers' && rest.length > 0;
  const area = top !== 'src' ? top : isProvider ? `${top}/${folder}/${inner}` : `${top}/${folder}`;
  if (!Object.hasOwn(MAY_IMPORT, area)) throw new Error(`${file} is in no area of the table`);
  return area as Area;
}

/** The areas that an area imports, directly or through others. */
function reachableFrom(area: Area, seen = new Set<Area>()): Set<Area> {
  for (const target of MAY_IMPORT[area] as readonly Area[]) {
    if (!seen.has(target)) reachableFrom(target, seen.add(target));
  }
  return seen;
}

const isIn = (folder: string, file: string) => file.startsWith(`${folder}/`);

describe('The direction of imports', () => {
  const imports = importsOfProduction();
  const crossing = imports
    .map((found) => ({ ...found, area: areaOf(found.from), target: areaOf(found.to) }))
    .filter(({ area, target }) => area !== target && target !== 'src/time');

  it('goes only where the table allows it', () => {
    const forbidden = crossing.filter(
      ({ area, target }) => !(MAY_IMPORT[area] as readonly string[]).includes(target),
    );
    expect(forbidden.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  });

  it.each(Object.entries(MAY_IMPORT))('%s uses every import that it is allowed', (area, allowed) => {
    const used = new Set<string>(crossing.filter((found) => found.area === area).map(({ target }) => target));
    expect(allowed.filter((target) => !used.has(target))).toEqual([]);
  });

  it.each(CLIENTS)('never leads from %s to the server', (client) => {
    expect([...reachableFrom(client)].filter((area) => SERVER.includes(area))).toEqual([]);
  });

  it.each(Object.entries(INNER))('goes from %s only where that folder may go', (folder, allowed) => {
    const leaving = imports.filter(
      ({ from, to }) => isIn(folder, from) && !isIn(folder, to) && !isIn('src/time', to),
    );
    const forbidden = leaving.filter(({ to }) => !allowed.some((target) => isIn(target, to)));
    expect(forbidden.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
    expect(allowed.filter((target) => !leaving.some(({ to }) => isIn(target, to)))).toEqual([]);
  });
});
