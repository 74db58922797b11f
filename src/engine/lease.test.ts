import { describe, expect, it } from 'vitest';
import { Lease, LeaseLost } from './lease.ts';

const LEASE_MS = 1_000;

function leaseAt(askedAt: number) {
  const clock = { ms: askedAt };
  return { clock, lease: new Lease('job-1', 7, askedAt, LEASE_MS, () => clock.ms) };
}

describe('a lease', () => {
  it('lets its holder act until a fifth before the end, counted from when it was asked for', () => {
    const { clock, lease } = leaseAt(5_000);
    expect(lease).toMatchObject({ jobId: 'job-1', epoch: 7 });
    clock.ms = 5_799;
    expect(lease.mayAct()).toBe(true);
    clock.ms = 5_800;
    expect(lease.mayAct()).toBe(false);
  });

  it('lasts from when its renewal was asked for, not from when the answer came', () => {
    const { clock, lease } = leaseAt(0);
    clock.ms = 700;
    lease.renewed(250, LEASE_MS);
    clock.ms = 1_049;
    expect(lease.mayAct()).toBe(true);
    clock.ms = 1_050;
    expect(lease.mayAct()).toBe(false);
  });

  it('may be renewed for another time, and keeps a fifth of that free', () => {
    const { clock, lease } = leaseAt(0);
    lease.renewed(0, 10_000);
    clock.ms = 7_999;
    expect(lease.mayAct()).toBe(true);
    clock.ms = 8_000;
    expect(lease.mayAct()).toBe(false);
  });

  it('stays lost after a late renewal', () => {
    const { lease } = leaseAt(0);
    lease.lose();
    lease.renewed(0, LEASE_MS);
    expect(lease.mayAct()).toBe(false);
  });

  it('is checked by throwing which job it was for', () => {
    const { clock, lease } = leaseAt(0);
    expect(() => lease.check()).not.toThrow();
    clock.ms = LEASE_MS;
    expect(() => lease.check()).toThrow(new LeaseLost('job-1'));
  });
});
