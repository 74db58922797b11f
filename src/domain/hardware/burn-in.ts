/**
 * A burn-in: tests of a machine's parts under load, with a time limit, by Ingot's installer. An inspection in band is one without tests:
 * the installer reports the inventory of the machine, and that is all.
 */

/** What each test does. */
export const BURN_IN_TESTS = {
  cpu: 'every processor computes the same digest again and again; machine checks count',
  memory: 'most of the free memory is filled and compared; errors of modules are counted',
  disk: 'every disk is read as far as the time allows; nothing is written',
  gpu: 'the PCIe links and error counters of GPUs are read; nothing is computed on them',
} as const satisfies Record<string, string>;

export type BurnInTest = keyof typeof BURN_IN_TESTS;
export const BURN_IN_TEST_NAMES = Object.keys(BURN_IN_TESTS) as BurnInTest[];

/** What the machine boots its installer for. */
export type BurnInPurpose = 'test' | 'inspection';

export interface BurnInRequest {
  readonly purpose: BurnInPurpose;
  readonly tests: readonly BurnInTest[];
  readonly seconds: number;
}

export const BURN_IN_RESULTS = ['passed', 'failed', 'skipped'] as const;

/** What became of one part. */
export interface BurnInResult {
  readonly test: string;
  /** What is to be replaced where it failed: a processor, a module, a disk with its serial number, a GPU with its address. */
  readonly part: string;
  readonly result: (typeof BURN_IN_RESULTS)[number];
  readonly detail: string;
  readonly seconds: number;
}

/** `ordered`: it waits for the machine's boot. */
export type BurnInState = 'ordered' | 'running' | 'passed' | 'failed';

export interface BurnIn extends BurnInRequest {
  readonly machineId: string;
  readonly operationId: string;
  /** Of the attempt that ordered it. */
  readonly key: string;
  readonly state: BurnInState;
  readonly percent: number;
  readonly results: readonly BurnInResult[];
  /** As an inspection's boot reported it, and not checked yet; null: it did not. */
  readonly inventory: unknown;
  /** Why it ended without results; empty: it has some. */
  readonly error: string;
  readonly orderedAt: Date;
  /** When the machine was made to boot; null: it was not. */
  readonly sentAt: Date | null;
  /** When it reported last; null: never. */
  readonly seenAt: Date | null;
  readonly endedAt: Date | null;
}

/** With a failure for each test that was ordered and has no result: what says nothing has not passed. */
export function withMissingResults(
  tests: readonly BurnInTest[],
  results: readonly BurnInResult[],
): readonly BurnInResult[] {
  const missing =
    results.length === 0 ? [] : tests.filter((test) => !results.some((each) => each.test === test));
  const detail = 'the machine reported no result';
  return [
    ...results,
    ...missing.map((test) => ({ test, part: test, result: 'failed', detail, seconds: 0 }) as const),
  ];
}

/** Failed where a part failed, and where nothing was tested: what was skipped has not passed. */
export function burnInOutcome(results: readonly BurnInResult[]): 'passed' | 'failed' {
  const isBad = results.some(({ result }) => result === 'failed');
  return isBad || !results.some(({ result }) => result === 'passed') ? 'failed' : 'passed';
}

/** The request of an inspection. */
export const INSPECTION_REQUEST: BurnInRequest = { purpose: 'inspection', tests: [], seconds: 1 };

/** One sentence that names the parts. */
export function burnInText({ results, error }: Pick<BurnIn, 'results' | 'error'>): string {
  if (error !== '') return error;
  const failed = results.filter(({ result }) => result === 'failed');
  if (failed.length > 0) return `failed: ${failed.map(partText).join('; ')}`;
  const passed = results.filter(({ result }) => result === 'passed');
  if (passed.length === 0) return 'nothing was tested';
  const skipped = results.filter(({ result }) => result === 'skipped');
  const left = skipped.length === 0 ? '' : `; not tested: ${skipped.map(partText).join('; ')}`;
  return `passed: ${passed.map(({ part }) => part).join(', ')}${left}`;
}

function partText({ part, detail }: BurnInResult): string {
  return `${part} (${detail})`;
}
