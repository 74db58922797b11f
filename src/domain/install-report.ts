/**
 * What a node's report about its installation does. Reports may come twice, late, out of order or from an earlier
 * boot; what counts is the story that they tell in order.
 *
 * A boot that was given a token is known by its number, and its story is: started, progress, and one end. So a
 * report that overtook `started` implies it, whatever comes after the end is late, and whatever an earlier boot says
 * is history. A boot that begins while the one before has not ended tells that that one died: an attempt that
 * failed. A report without a token is taken as the document's table has it, and no further.
 */
import type { InstallState } from './install-state.ts';
import { type InstallStory, MAX_INSTALL_ATTEMPTS } from './node.ts';

export const INSTALLATION_STATUSES = ['started', 'progress', 'complete', 'failed'] as const;
export type InstallationStatus = (typeof INSTALLATION_STATUSES)[number];

export interface InstallReport {
  readonly status: InstallationStatus;
  /** Percent; null: not said. */
  readonly progress: number | null;
  readonly error: string;
  /** Null: the boot was given no token. */
  readonly bootNo: number | null;
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
  const died = told.state === 'installing' && story.bootNo >= story.firstBootNo && !story.bootEnded;
  if (died) fail(told, 'the machine booted again before the installation ended');
  told.story = { ...told.story, bootNo, bootEnded: false };
  return null;
}

function tell(told: Told, report: InstallReport): Pick<ReportOutcome, keyof Told | 'ignored'> {
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

function begin(told: Told): void {
  move(told, 'installing', {});
  told.story = { ...told.story, attempts: 0, progress: 0 };
}

function fail(told: Told, error: string): void {
  const attempts = told.story.attempts + 1;
  told.story = { ...told.story, attempts, lastError: error };
  move(told, attempts >= MAX_INSTALL_ATTEMPTS ? 'install_failed' : 'installing', {
    error,
    attempt: attempts,
  });
}

/** No report came in time: an attempt that failed. Should it come after all, its end still counts. */
export function applyStall(state: InstallState, story: InstallStory, seconds: number): ReportOutcome {
  const told: Told = { state, story, notes: [] };
  if (state !== 'installing') return { ...told, ignored: 'nothing is being installed' };
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
