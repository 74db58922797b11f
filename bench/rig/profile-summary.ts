/** Where the time of a CPU profile went, by module: a package, a folder of the sources, Node.js, or the collector. */

export interface CpuProfile {
  readonly nodes: ReadonlyArray<{
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
    readonly children?: readonly number[];
  }>;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

export interface ProfileSummary {
  /** Milliseconds without idle ones. */
  readonly busyMs: number;
  /** Of the busy time. */
  readonly garbageShare: number;
  readonly modules: ReadonlyArray<{ readonly name: string; readonly share: number }>;
  readonly functions: ReadonlyArray<{ readonly name: string; readonly share: number }>;
}

const MOST = 20;
const MOST_FOLDERS = 3;

export function summarizeProfile(profile: CpuProfile): ProfileSummary {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node.callFrame]));
  const modules = new Map<string, number>();
  const functions = new Map<string, number>();
  let busy = 0;
  profile.samples.forEach((id, at) => {
    const frame = nodes.get(id);
    const micros = profile.timeDeltas[at] ?? 0;
    if (frame === undefined || frame.functionName === '(idle)') return;
    busy += micros;
    const name = moduleOf(frame);
    modules.set(name, (modules.get(name) ?? 0) + micros);
    const label = `${frame.functionName || '(anonymous)'} in ${name}`;
    functions.set(label, (functions.get(label) ?? 0) + micros);
  });
  const shares = (of: ReadonlyMap<string, number>) =>
    [...of]
      .map(([name, micros]) => ({ name, share: busy === 0 ? 0 : micros / busy }))
      .sort((left, right) => right.share - left.share)
      .slice(0, MOST);
  return {
    busyMs: busy / 1000,
    garbageShare: busy === 0 ? 0 : (modules.get(GARBAGE) ?? 0) / busy,
    modules: shares(modules),
    functions: shares(functions),
  };
}

const GARBAGE = 'garbage collection';

export function moduleOf({ functionName, url }: { functionName: string; url: string }): string {
  if (functionName === '(garbage collector)') return GARBAGE;
  if (functionName === '(program)') return 'native code';
  const inPackage = /node_modules\/((?:@[^/]+\/)?[^/]+)(?!.*node_modules)/.exec(url);
  if (inPackage) return inPackage[1] ?? url;
  if (url.startsWith('node:') || url === '') return 'Node.js';
  // dist/src/store/events/append-events.js: the folder says what it is for.
  const inSources = /\/(src(?:\/[^/]+)*)\/[^/]+$/.exec(url);
  return inSources?.[1]?.split('/').slice(0, MOST_FOLDERS).join('/') ?? url;
}

export function showSummary({ busyMs, garbageShare, modules, functions }: ProfileSummary): string[] {
  const percent = (share: number) => `${(share * 100).toFixed(1)} %`.padStart(7);
  return [
    `busy for ${(busyMs / 1000).toFixed(2)} s, garbage collection ${percent(garbageShare).trim()}`,
    ...modules.map(({ name, share }) => `  ${percent(share)}  ${name}`),
    '  the functions with most of it:',
    ...functions.map(({ name, share }) => `  ${percent(share)}  ${name}`),
  ];
}
