import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyReport, applyStall, type InstallReport } from './install-report.ts';
import type { InstallState } from './install-state.ts';
import type { InstallRecord } from './node.ts';

const FRESH: InstallRecord = {
  attempts: 0,
  lastError: '',
  progress: null,
  bootNo: 0,
  bootEnded: false,
  firstBootNo: 1,
};

function afterReports(
  reports: readonly InstallReport[],
  state: InstallState = 'pending',
  installRecord = FRESH,
) {
  let current = { state, installRecord };
  for (const report of reports) {
    const { state: next, installRecord: nextRecord } = applyReport(
      current.state,
      current.installRecord,
      report,
    );
    current = { state: next, installRecord: nextRecord };
  }
  return current;
}

function report(status: InstallReport['status'], bootNo: number | null, progress = 0): InstallReport {
  return {
    status,
    bootNo,
    progress,
    error: status === 'failed' ? 'no disk' : '',
    purpose: 'install',
    erased: null,
  };
}

/** A boot's reports, and the same ones as a bad network delivers them: in any order, some of them twice. */
const delivered = (reports: readonly InstallReport[]) =>
  fc
    .tuple(
      fc.shuffledSubarray([...reports], { minLength: reports.length }),
      fc.array(fc.constantFrom(...reports), { maxLength: 4 }),
    )
    .map(([all, again]) => [...all, ...again]);

describe('reports of one boot, in any order and twice', () => {
  const complete = [
    report('started', 1),
    report('progress', 1, 30),
    report('progress', 1, 80),
    report('complete', 1),
  ];
  const failed = [report('started', 1), report('progress', 1, 30), report('failed', 1)];

  it('end installed where it was completed', () => {
    fc.assert(
      fc.property(delivered(complete), (reports) => {
        expect(afterReports(reports)).toMatchObject({
          state: 'installed',
          installRecord: { attempts: 0, progress: 100 },
        });
      }),
    );
  });

  it('count one failure where it failed', () => {
    fc.assert(
      fc.property(delivered(failed), (reports) => {
        expect(afterReports(reports)).toMatchObject({
          state: 'installing',
          installRecord: { attempts: 1, lastError: 'no disk' },
        });
      }),
    );
  });
});

describe('reports of several boots', () => {
  const boots = [1, 2, 3].flatMap((bootNo) => [report('started', bootNo), report('failed', bootNo)]);

  it('three boots that failed are three attempts, however late the reports of each come after the next began', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(5), { maxLength: 12 }), (delays) => {
        const queue = boots.map((entry, index) => ({ entry, at: index * 2 + (delays[index] ?? 0) }));
        // A boot begins only after the one before it did.
        const ordered = [...queue].sort((left, right) => left.at - right.at).map(({ entry }) => entry);
        const first = [1, 2, 3].map((n) => ordered.findIndex(({ bootNo }) => bootNo === n));
        fc.pre((first[0] ?? 0) < (first[1] ?? 0) && (first[1] ?? 0) < (first[2] ?? 0));
        expect(afterReports(ordered)).toMatchObject({
          state: 'install_failed',
          installRecord: { attempts: 3 },
        });
      }),
    );
  });

  it('a boot that starts before the previous one has ended means that the previous one died', () => {
    const died = afterReports([report('started', 1), report('started', 2)]);
    expect(died).toMatchObject({ state: 'installing', installRecord: { attempts: 1, bootNo: 2 } });
    const third = afterReports([
      report('started', 1),
      report('started', 2),
      report('started', 3),
      report('started', 4),
    ]);
    expect(third.state).toBe('install_failed');
  });

  it('what an earlier boot, or one of an earlier installation, says changes nothing', () => {
    const now = afterReports([report('started', 1), report('failed', 1), report('started', 2)]);
    for (const status of ['started', 'progress', 'complete', 'failed'] as const) {
      const after = applyReport(now.state, now.installRecord, report(status, 1, 99));
      expect(after).toMatchObject({ ...now, ignored: 'it comes from an earlier boot', notes: [] });
    }
    const queuedAgain = { ...FRESH, bootNo: 2, bootEnded: true, firstBootNo: 3 };
    expect(applyReport('pending', queuedAgain, report('complete', 2))).toMatchObject({ state: 'pending' });
  });
});

describe('reports without a token', () => {
  it('are taken as the table has it', () => {
    expect(afterReports([report('started', null)])).toMatchObject({ state: 'installing' });
    expect(afterReports([report('complete', null)])).toMatchObject({ state: 'pending' });
    expect(afterReports([report('failed', null)])).toMatchObject({
      state: 'pending',
      installRecord: { attempts: 0 },
    });
    expect(
      afterReports([report('started', null), report('failed', null), report('complete', null)]),
    ).toMatchObject({
      state: 'installed',
      installRecord: { attempts: 0 },
    });
  });

  it('progress never goes back', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(100), { minLength: 1 }), (percentages) => {
        const reports = percentages.map((percent) => report('progress', null, percent));
        const { installRecord } = afterReports([report('started', null), ...reports]);
        expect(installRecord.progress).toBe(Math.max(...percentages));
      }),
    );
  });
});

describe('a stall', () => {
  it('is a failed attempt; a late end of the boot still counts until the last attempt', () => {
    const { state, installRecord } = afterReports([report('started', 1)]);
    const stalled = applyStall(state, installRecord, 60);
    expect(stalled).toMatchObject({ state: 'installing', installRecord: { attempts: 1 } });
    expect(applyReport(stalled.state, stalled.installRecord, report('complete', 1)).state).toBe('installed');
    expect(applyStall('pending', FRESH, 60)).toMatchObject({ state: 'pending', notes: [] });
  });
});
