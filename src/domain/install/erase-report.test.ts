/** Reports about an erasure, by the boot that was served for it. */
import { describe, expect, it } from 'vitest';
import type { DiskErasure, EraseResult } from './erasure.ts';
import { applyReport, applyStall, type InstallReport } from './install-report.ts';
import type { InstallState } from './install-state.ts';
import type { InstallRecord } from './node.ts';

/** Two boots have installed it; what comes from boot 3 on is the erasure. */
const QUEUED: InstallRecord = {
  attempts: 0,
  lastError: '',
  progress: null,
  bootNo: 2,
  bootEnded: true,
  firstBootNo: 3,
};

const disk = (result: EraseResult): DiskErasure => ({
  name: 'vda',
  model: '',
  serial: 'S1',
  size_bytes: 1,
  method: result === 'partial' ? 'overwrite-partial' : 'nvme-format',
  result,
  verified: '',
  not_done: result === 'partial' ? 'the middle' : '',
  seconds: 1,
});

const erasing = (
  status: InstallReport['status'],
  bootNo: number | null = 3,
  ...results: EraseResult[]
): InstallReport => ({
  status,
  bootNo,
  progress: null,
  error: status === 'failed' ? 'the drive is locked' : '',
  purpose: 'erase',
  erased: results.length === 0 ? null : { disks: results.map(disk), skipped: [] },
});

function afterReports(
  reports: readonly InstallReport[],
  state: InstallState = 'deprovisioning',
  installRecord = QUEUED,
) {
  return reports.reduce(
    (now, report) => {
      const after = applyReport(now.state, now.installRecord, report);
      return { ...after, notes: [...now.notes, ...after.notes] };
    },
    { ...applyStall('retired', installRecord, 0), state },
  );
}

describe('an erasure', () => {
  it('leaves the state until it is complete, and then is the end of the machine', () => {
    const started = afterReports([erasing('started'), { ...erasing('progress'), progress: 40 }]);
    expect(started).toMatchObject({ state: 'deprovisioning', installRecord: { progress: 40 }, notes: [] });
    const end = afterReports([erasing('started'), erasing('complete', 3, 'erased', 'partial')]);
    expect(end).toMatchObject({
      state: 'retired',
      notes: [{ from: 'deprovisioning', to: 'retired', metadata: { erase: { outcome: 'partial' } } }],
    });
  });

  it('counts an attempt that says complete and shows a disk that failed', () => {
    const end = afterReports([erasing('complete', 3, 'erased', 'failed')]);
    expect(end).toMatchObject({ state: 'deprovisioning', installRecord: { attempts: 1, bootEnded: true } });
    expect(end.installRecord.lastError).toMatch(/not erased: .*vda \(serial S1\) failed/);
  });

  it('never leaves deprovisioning by failing, however often', () => {
    const end = afterReports([3, 4, 5, 6].map((boot) => erasing('failed', boot)));
    expect(end).toMatchObject({
      state: 'deprovisioning',
      installRecord: { attempts: 4, lastError: 'the drive is locked' },
    });
    expect(end.notes).toHaveLength(4);
  });

  it('fails when the machine boots again, or nothing is reported for too long', () => {
    expect(afterReports([erasing('started', 3), erasing('started', 4)]).installRecord).toMatchObject({
      attempts: 1,
      lastError: 'the machine booted again before the erasure ended',
    });
    expect(applyStall('deprovisioning', QUEUED, 60)).toMatchObject({
      state: 'deprovisioning',
      installRecord: { attempts: 1, lastError: 'no report for 60 seconds' },
    });
  });

  it('is not accepted from a boot that was served to install, or that was served nothing', () => {
    for (const bootNo of [null, 3]) {
      const report = { ...erasing('complete', bootNo, 'erased'), purpose: 'install' } as const;
      expect(afterReports([report])).toMatchObject({
        state: 'deprovisioning',
        ignored: expect.stringMatching(/served for the erasure/),
      });
    }
    expect(afterReports([erasing('complete', 2, 'erased')]).state).toBe('deprovisioning');
  });

  it('completes no installation', () => {
    expect(afterReports([erasing('complete', 3, 'erased')], 'installing')).toMatchObject({
      state: 'installing',
      ignored: expect.stringMatching(/does not fit/),
    });
  });
});
