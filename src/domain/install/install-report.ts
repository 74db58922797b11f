/**
 * Applies a node's report about its installation. Reports may come twice, late, out of order or from an earlier boot;
 * only their order by boot counts.
 *
 * A boot that was given a token is known by its number, and reports: started, progress, and one end. So a report that
 * arrives before `started` implies it, anything after the end is late, and reports of an earlier boot change nothing.
 * A boot that starts before the previous one has ended means that the previous one died: a failed attempt. A report
 * without a token only makes the transitions of the table in docs/nodes.md.
 */
import { type ErasedDisks, eraseOutcome, erasureText } from './erasure.ts';
import type { InstallState } from './install-state.ts';
import { type BootPurpose, type InstallStory, MAX_INSTALL_ATTEMPTS } from './node.ts';

export const INSTALLATION_STATUSES = ['started', 'progress', 'complete', 'failed'] as const;
export type InstallationStatus = (typeof INSTALLATION_STATUSES)[number];

export interface InstallReport {
  readonly status: InstallationStatus;
  /** Percent; null: not reported. */
  readonly progress: number | null;
  readonly error: string;
  /** Null: the boot was given no token. */
  readonly bootNo: number | null;
  /** What the boot was served for; one without a token can only have been an installation. */
  readonly purpose: BootPurpose;
  /** The result for each disk; null: not reported. */
  readonly erased: ErasedDisks | null;
}

/** One entry of the history; a failure that does not change the state is an entry, too. */
export interface InstallNote {
  readonly from: InstallState;
  readonly to: InstallState;
  readonly metadata: Readonly<Record<string, unknown>>;
}

export interface ReportOutcome {
  readonly state: InstallState;
  readonly story: InstallStory;
  readonly notes: readonly InstallNote[];
  /** Why the report changed nothing; null: it was applied. */
  readonly ignored: string | null;
}

interface Told {
  state: InstallState;
  story: InstallStory;
  notes: InstallNote[];
}

export function applyReport(state: InstallState, story: InstallStory, report: InstallReport): ReportOutcome {
  const told: Told = { state, story, notes: [] };
  const ignored = report.bootNo === null ? null : enterBoot(told, report.bootNo);
  if (ignored !== null) return { ...told, ignored };
  return { ...told, ...tell(told, report) };
}

/** Null: the report is about the current boot. */
function enterBoot(told: Told, bootNo: number): string | null {
  const { story } = told;
  if (bootNo < Math.max(story.bootNo, story.firstBootNo)) return 'it comes from an earlier boot';
  if (bootNo === story.bootNo) return story.bootEnded ? 'its boot has told its end already' : null;
  const isAtWork = story.bootNo >= story.firstBootNo && !story.bootEnded;
  if (told.state === 'installing' && isAtWork)
    fail(told, 'the machine booted again before the installation ended');
  if (told.state === 'deprovisioning' && isAtWork)
    fail(told, 'the machine booted again before the erasure ended');
  told.story = { ...told.story, bootNo, bootEnded: false };
  return null;
}

function tell(told: Told, report: InstallReport): Pick<ReportOutcome, keyof Told | 'ignored'> {
  if (report.purpose === 'erase' || told.state === 'deprovisioning') return tellErasing(told, report);
  const impliesStart = report.status === 'started' || report.bootNo !== null;
  if (told.state === 'pending' && impliesStart) begin(told);
  if (told.state !== 'installing') {
    return { ...told, ignored: `it does not fit the state ${told.state}` };
  }
  switch (report.status) {
    case 'started':
      return { ...told, ignored: null };
    case 'progress':
      told.story = { ...told.story, progress: furthest(told.story.progress, report.progress) };
      return { ...told, ignored: null };
    case 'complete':
      move(told, 'installed', {});
      told.story = { ...told.story, attempts: 0, lastError: '', progress: 100, bootEnded: true };
      return { ...told, ignored: null };
    case 'failed':
      fail(told, report.error === '' ? 'the node gave no reason' : report.error);
      told.story = { ...told.story, bootEnded: true };
      return { ...told, ignored: null };
  }
}

/**
 * The state stays deprovisioning until the erasure is complete, and only the boot that was served for it can report
 * that. The reported disks decide: a disk that failed fails the attempt, whatever the status says.
 */
function tellErasing(told: Told, report: InstallReport): Pick<ReportOutcome, keyof Told | 'ignored'> {
  if (told.state !== 'deprovisioning') return { ...told, ignored: `it does not fit the state ${told.state}` };
  if (report.purpose !== 'erase')
    return { ...told, ignored: 'only a boot that was served for the erasure reports about it' };
  const erased = report.erased ?? NO_DISKS;
  const outcome = eraseOutcome(erased);
  switch (report.status) {
    case 'started':
      told.story = { ...told.story, progress: told.story.progress ?? 0 };
      return { ...told, ignored: null };
    case 'progress':
      told.story = { ...told.story, progress: furthest(told.story.progress, report.progress) };
      return { ...told, ignored: null };
    case 'complete':
      if (outcome === 'failed') {
        fail(told, erasureText({ outcome, ...erased }), { erase: { outcome, ...erased } });
        told.story = { ...told.story, bootEnded: true };
        return { ...told, ignored: null };
      }
      move(told, 'retired', { erase: { outcome, ...erased } });
      told.story = { ...told.story, attempts: 0, lastError: '', progress: 100, bootEnded: true };
      return { ...told, ignored: null };
    case 'failed':
      fail(
        told,
        report.error === '' ? 'the node gave no reason' : report.error,
        erased.disks.length === 0 ? {} : { erase: { outcome: 'failed', ...erased } },
      );
      told.story = { ...told.story, bootEnded: true };
      return { ...told, ignored: null };
  }
}

const NO_DISKS: ErasedDisks = { disks: [], skipped: [] };

function begin(told: Told): void {
  move(told, 'installing', {});
  told.story = { ...told.story, attempts: 0, lastError: '', progress: 0 };
}

function fail(told: Told, error: string, evidence: InstallNote['metadata'] = {}): void {
  const attempts = told.story.attempts + 1;
  told.story = { ...told.story, attempts, lastError: error };
  // There is no state for a failed erasure: deprovisioning ends only when it is complete.
  const isOver = attempts >= MAX_INSTALL_ATTEMPTS && told.state === 'installing';
  move(told, isOver ? 'install_failed' : told.state, { error, attempt: attempts, ...evidence });
}

/** No report came in time, so the attempt failed. A final report that comes later still counts. */
export function applyStall(state: InstallState, story: InstallStory, seconds: number): ReportOutcome {
  const told: Told = { state, story, notes: [] };
  if (state !== 'installing' && state !== 'deprovisioning')
    return { ...told, ignored: 'nothing is being installed or erased' };
  fail(told, `no report for ${seconds} seconds`);
  return { ...told, ignored: null };
}

function move(told: Told, to: InstallState, metadata: Readonly<Record<string, unknown>>): void {
  told.notes.push({ from: told.state, to, metadata });
  told.state = to;
}

/** Reports can arrive out of order: progress never goes back. */
function furthest(before: number | null, told: number | null): number | null {
  if (told === null) return before;
  return Math.max(before ?? 0, told);
}
