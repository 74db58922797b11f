/**
 * What a node's report about its installation does. Reports may come twice, late, out of order or from an earlier
 * boot; what counts is the story that they tell in order.
 *
 * A boot that was given a token is known by its number, and its story is: started, progress, and one end. So a
 * report that overtook `started` implies it, whatever comes after the end is late, and whatever an earlier boot says
 * is history. A boot that begins while the one before has not ended tells that that one died: an attempt that
 * failed. A report without a token is taken as the document's table has it, and no further.
 */
import { type ErasedDisks, eraseOutcome, erasureText } from './erasure.ts';
import type { InstallState } from './install-state.ts';
import { type BootPurpose, type InstallStory, MAX_INSTALL_ATTEMPTS } from './node.ts';

export const INSTALLATION_STATUSES = ['started', 'progress', 'complete', 'failed'] as const;
export type InstallationStatus = (typeof INSTALLATION_STATUSES)[number];

export interface InstallReport {
  readonly status: InstallationStatus;
  /** Percent; null: not said. */
  readonly progress: number | null;
  readonly error: string;
  /** Null: the boot was given no token. */
  readonly bootNo: number | null;
  /** What the boot was served for; one without a token can only have installed. */
  readonly purpose: BootPurpose;
  /** What became of the disks; null: not reported. */
  readonly erased: ErasedDisks | null;
}

/** One entry of the history; a failure that leaves the state leaves a trace all the same. */
export interface InstallNote {
  readonly from: InstallState;
  readonly to: InstallState;
  readonly metadata: Readonly<Record<string, unknown>>;
}

export interface ReportOutcome {
  readonly state: InstallState;
  readonly story: InstallStory;
  readonly notes: readonly InstallNote[];
  /** Why the report changed nothing; null when it counted. */
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

/** Null when the boot is the one that is being told of. */
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
 * An erasure leaves the state until it is complete, and only the boot that was served for it can say so. What the
 * machine reports of its disks decides whether it is: a disk that failed makes the attempt fail, whatever the status says.
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
  // No state says that an erasure failed: nothing leads out of deprovisioning but its end.
  const isOver = attempts >= MAX_INSTALL_ATTEMPTS && told.state === 'installing';
  move(told, isOver ? 'install_failed' : told.state, { error, attempt: attempts, ...evidence });
}

/** No report came in time: an attempt that failed. Should it come after all, its end still counts. */
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

/** A report that was overtaken tells less than is known. */
function furthest(before: number | null, told: number | null): number | null {
  if (told === null) return before;
  return Math.max(before ?? 0, told);
}
