import { expect, test } from 'vitest';
import { sampleMachine } from './machine.fixture.ts';
import type { Machine } from './machine.ts';
import { machineHeadline } from './machine-headline.ts';

const NOW = new Date('2026-02-01T12:00:00Z');
const ago = (minutes: number) => new Date(NOW.getTime() - minutes * 60_000);

const active = { phase: 'READY', service: 'active', presence: 'ready' } as const;
const condition = (status: boolean, reason: string) => ({
  status,
  reason,
  message: '',
  lastTransition: ago(10).toISOString(),
});

function shown(fields: Partial<Machine>, lastKeepaliveAt: Date | null = null, isStalled = false) {
  const { text, tone } = machineHeadline(sampleMachine(fields), NOW, { lastKeepaliveAt, isStalled });
  return `${tone}: ${text}`;
}

test('a machine that is well has its effective state, and nothing else to say', () => {
  expect(shown(active)).toBe('quiet: IDLE');
  expect(shown({ phase: 'FACTORY_READY' })).toBe('planned: NEW');
  expect(shown({ phase: 'MAINTENANCE' })).toBe('planned: MAINTENANCE');
});

test('a machine whose agent is lost says since when, and needs attention', () => {
  const lost = { ...active, service: 'offline', presence: 'expired' } as const;
  expect(shown(lost, ago(10))).toBe('warning: IDLE · agent lost 10 min');
  expect(shown(lost, ago(0.5))).toBe('warning: IDLE · agent lost 30 s');
  expect(shown(lost, ago(300))).toBe('warning: IDLE · agent lost 5 h');
  expect(shown(lost, ago(60 * 72))).toBe('warning: IDLE · agent lost 3 d');
  expect(shown(lost)).toBe('warning: IDLE · agent lost');
  expect(machineHeadline(sampleMachine(lost), NOW).needsAttention).toBe(true);
});

test('work and maintenance explain a lost agent', () => {
  const lost = { ...active, presence: 'expired' } as const;
  const busy = { activeOperationId: 'op-1', activeOperationType: 'REIMAGE' } as const;
  expect(shown({ ...lost, ...busy }, ago(10))).toBe('working: BUSY · reimage');
  expect(shown({ ...lost, phase: 'MAINTENANCE' }, ago(10))).toBe('planned: MAINTENANCE');
  expect(shown({ ...lost, service: 'retired' }, ago(10))).toBe('planned: IDLE · out of scheduling');
});

test('only what failed is red, and the failure is named', () => {
  const failed = { ...active, conditions: { NeedsIntervention: condition(true, 'ReimageFailed') } };
  expect(shown(failed)).toBe('failed: ATTENTION · reimage failed');
  expect(shown({ ...active, install: 'install_failed' })).toBe('failed: IDLE · install failed');
  expect(shown({ ...active, conditions: { RMA: condition(true, 'Flagged') } })).toBe(
    'failed: BLOCKED · flagged for return',
  );
  const conflict = { ...active, conditions: { NeedsIntervention: condition(true, 'BootConflict') } };
  expect(shown(conflict)).toBe('warning: ATTENTION · boot conflict');
});

test('what is over for good recedes, whatever else is wrong with it', () => {
  const conditions = { Retired: condition(true, 'Erased'), RMA: condition(true, 'Flagged') };
  expect(shown({ ...active, presence: 'expired', conditions })).toBe('quiet: BLOCKED · retired for good');
  expect(shown({ service: 'deleted', presence: 'expired' })).toBe('quiet: NEW · removed');
});

test('an upstream that disagrees is named, unless an operator has accepted it', () => {
  const observed = {
    source: 'maas-a',
    state: 'Ready',
    power: 'on',
    upstreamId: 'abc',
    at: ago(3).toISOString(),
  };
  expect(shown({ ...active, observed })).toBe('warning: IDLE · maas-a says Ready');
  expect(shown({ ...active, service: 'quarantined', observed })).toBe('warning: IDLE · maas-a says Ready');
  expect(shown({ ...active, observed: { ...observed, state: 'absent' } })).toBe(
    'warning: IDLE · gone from maas-a',
  );
  const accepted = { by: 'admin:eve', reason: 'known', at: ago(1).toISOString() };
  expect(shown({ ...active, observed: { ...observed, accepted } })).toBe('quiet: IDLE');
  expect(shown({ ...active, observed: { ...observed, state: 'Deployed' } })).toBe('quiet: IDLE');
});

test('maintenance that is over, and a step that is slower than its history, need attention', () => {
  const maintenance = { since: ago(500).toISOString(), reason: '', by: '', exitsByItself: false };
  const over = {
    phase: 'MAINTENANCE',
    maintenance: { ...maintenance, until: ago(120).toISOString() },
  } as const;
  expect(shown(over)).toBe('warning: MAINTENANCE · overdue 2 h');
  expect(shown({ ...over, maintenance: { ...maintenance, until: ago(-5).toISOString() } })).toBe(
    'planned: MAINTENANCE',
  );
  const busy = { ...active, activeOperationId: 'op-1', activeOperationType: 'REIMAGE' } as const;
  expect(shown(busy, null, true)).toBe('warning: BUSY · reimage stalled');
  expect(shown(busy)).toBe('working: BUSY · reimage');
});

test('installation and enrolment have their words', () => {
  expect(shown({ install: 'discovered' })).toBe('planned: NEW · waits for approval');
  expect(shown({ install: 'pending' })).toBe('planned: NEW · waits to install');
  expect(shown({ install: 'installing' })).toBe('working: NEW · installing');
  expect(shown({ install: 'installed' })).toBe('planned: NEW · waits to be verified');
  expect(shown({ service: 'bootstrap_issued', presence: 'pending' })).toBe(
    'planned: NEW · waits for its agent',
  );
  expect(shown({ service: 'bootstrap_issued', presence: 'expired' })).toBe(
    'warning: NEW · agent did not register',
  );
});

test('all that is to be said is there, the most important first, and once', () => {
  const conditions = {
    NeedsIntervention: condition(true, 'ReimageFailed'),
    Degraded: condition(true, 'HostAndBMCUnreachable'),
  };
  const lost = sampleMachine({ ...active, service: 'offline', presence: 'expired', conditions });
  const { notes } = machineHeadline(lost, NOW, { lastKeepaliveAt: ago(10), isStalled: false });
  expect(notes).toEqual(['reimage failed', 'agent lost 10 min', 'offline', 'host and BMC unreachable']);
});
