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
import { type BootPurpose, type InstallRecord, MAX_INSTALL_ATTEMPTS } from './node.ts';

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
  readonly installRecord: InstallRecord;
  readonly notes: readonly InstallNote[];
  /** Why the report changed nothing; null: it was applied. */
  readonly ignored: string | null;
}

interface NodeUpdate {
  state: InstallState;
  installRecord: InstallRecord;
  notes: InstallNote[];
}

export function applyReport(
  state: InstallState,
  installRecord: InstallRecord,
  report: InstallReport,
): ReportOutcome {
  const update: NodeUpdate = { state, installRecord, notes: [] };
  const ignored = report.bootNo === null ? null : enterBoot(update, report.bootNo);
  if (ignored !== null) return { ...update, ignored };
  return { ...update, ...applyToBoot(update, report) };
}

/** Null: the report is about the current boot. */
function enterBoot(update: NodeUpdate, bootNo: number): string | null {
  const { installRecord } = update;
  if (bootNo < Math.max(installRecord.bootNo, installRecord.firstBootNo))
    return 'it comes from an earlier boot';
  if (bootNo === installRecord.bootNo)
    return installRecord.bootEnded ? 'its boot has already sent its final report' : null;
  const isAtWork = installRecord.bootNo >= installRecord.firstBootNo && !installRecord.bootEnded;
  if (update.state === 'installing' && isAtWork)
    fail(update, 'the machine booted again before the installation ended');
  if (update.state === 'deprovisioning' && isAtWork)
    fail(update, 'the machine booted again before the erasure ended');
  update.installRecord = { ...update.installRecord, bootNo, bootEnded: false };
  return null;
}

function applyToBoot(
  update: NodeUpdate,
  report: InstallReport,
): Pick<ReportOutcome, keyof NodeUpdate | 'ignored'> {
  if (report.purpose === 'erase' || update.state === 'deprovisioning')
    return applyEraseReport(update, report);
  const impliesStart = report.status === 'started' || report.bootNo !== null;
  if (update.state === 'pending' && impliesStart) begin(update);
  if (update.state !== 'installing') {
    return { ...update, ignored: `it does not fit the state ${update.state}` };
  }
  switch (report.status) {
    case 'started':
      return { ...update, ignored: null };
    case 'progress':
      update.installRecord = {
        ...update.installRecord,
        progress: furthest(update.installRecord.progress, report.progress),
      };
      return { ...update, ignored: null };
    case 'complete':
      move(update, 'installed', {});
      update.installRecord = {
        ...update.installRecord,
        attempts: 0,
        lastError: '',
        progress: 100,
        bootEnded: true,
      };
      return { ...update, ignored: null };
    case 'failed':
      fail(update, report.error === '' ? 'the node gave no reason' : report.error);
      update.installRecord = { ...update.installRecord, bootEnded: true };
      return { ...update, ignored: null };
  }
}

/**
 * The state stays deprovisioning until the erasure is complete, and only the boot that was served for it can report
 * that. The reported disks decide: a disk that failed fails the attempt, whatever the status says.
 */
function applyEraseReport(
  update: NodeUpdate,
  report: InstallReport,
): Pick<ReportOutcome, keyof NodeUpdate | 'ignored'> {
  if (update.state !== 'deprovisioning')
    return { ...update, ignored: `it does not fit the state ${update.state}` };
  if (report.purpose !== 'erase')
    return { ...update, ignored: 'only a boot that was served for the erasure reports about it' };
  const erased = report.erased ?? NO_DISKS;
  const outcome = eraseOutcome(erased);
  switch (report.status) {
    case 'started':
      update.installRecord = { ...update.installRecord, progress: update.installRecord.progress ?? 0 };
      return { ...update, ignored: null };
    case 'progress':
      update.installRecord = {
        ...update.installRecord,
        progress: furthest(update.installRecord.progress, report.progress),
      };
      return { ...update, ignored: null };
    case 'complete':
      if (outcome === 'failed') {
        fail(update, erasureText({ outcome, ...erased }), { erase: { outcome, ...erased } });
        update.installRecord = { ...update.installRecord, bootEnded: true };
        return { ...update, ignored: null };
      }
      move(update, 'retired', { erase: { outcome, ...erased } });
      update.installRecord = {
        ...update.installRecord,
        attempts: 0,
        lastError: '',
        progress: 100,
        bootEnded: true,
      };
      return { ...update, ignored: null };
    case 'failed':
      fail(
        update,
        report.error === '' ? 'the node gave no reason' : report.error,
        erased.disks.length === 0 ? {} : { erase: { outcome: 'failed', ...erased } },
      );
      update.installRecord = { ...update.installRecord, bootEnded: true };
      return { ...update, ignored: null };
  }
}

const NO_DISKS: ErasedDisks = { disks: [], skipped: [] };

function begin(update: NodeUpdate): void {
  move(update, 'installing', {});
  update.installRecord = { ...update.installRecord, attempts: 0, lastError: '', progress: 0 };
}

function fail(update: NodeUpdate, error: string, evidence: InstallNote['metadata'] = {}): void {
  const attempts = update.installRecord.attempts + 1;
  update.installRecord = { ...update.installRecord, attempts, lastError: error };
  // There is no state for a failed erasure: deprovisioning ends only when it is complete.
  const isOver = attempts >= MAX_INSTALL_ATTEMPTS && update.state === 'installing';
  move(update, isOver ? 'install_failed' : update.state, { error, attempt: attempts, ...evidence });
}

/** No report came in time, so the attempt failed. A final report that comes later still counts. */
export function applyStall(
  state: InstallState,
  installRecord: InstallRecord,
  seconds: number,
): ReportOutcome {
  const update: NodeUpdate = { state, installRecord, notes: [] };
  if (state !== 'installing' && state !== 'deprovisioning')
    return { ...update, ignored: 'nothing is being installed or erased' };
  fail(update, `no report for ${seconds} seconds`);
  return { ...update, ignored: null };
}

function move(update: NodeUpdate, to: InstallState, metadata: Readonly<Record<string, unknown>>): void {
  update.notes.push({ from: update.state, to, metadata });
  update.state = to;
}

/** Reports can arrive out of order: progress never goes back. */
function furthest(before: number | null, update: number | null): number | null {
  if (update === null) return before;
  return Math.max(before ?? 0, update);
}
