import { describe, expect, it } from 'vitest';
import type { ActionMachine, MachineAction } from '../../../../src/domain/machine/machine-action.ts';
import { choicesOf, commandOf, firstValues, missing, type Values } from './action-form.ts';

const machine = (changed: Partial<ActionMachine> = {}): ActionMachine => ({
  machineId: 'm-1',
  phase: 'MAINTENANCE',
  service: 'active',
  install: 'installed',
  whyNoBmc: null,
  conditions: {},
  activeOperationId: null,
  ...changed,
});
const values = (action: MachineAction, given: Partial<Values> = {}): Values => ({
  ...firstValues(action, machine(), {}),
  ...given,
});

describe('the form of an action', () => {
  it('asks for nothing for a reboot, and for the typed name for a reimage', () => {
    expect(missing('reboot', values('reboot'), 'm-1', '')).toBe('');
    expect(missing('reimage', values('reimage'), 'm-1', '')).toBe('Type m-1 to confirm.');
    expect(missing('reimage', values('reimage'), 'm-1', 'm-2')).not.toBe('');
    expect(missing('reimage', values('reimage'), 'm-1', 'm-1')).toBe('');
  });

  it('rejects an image that the server would reject', () => {
    expect(missing('reimage', values('reimage', { image: 'a b' }), 'm-1', 'm-1')).toContain('image');
    expect(missing('reimage', values('reimage', { image: 'ubuntu-24.04' }), 'm-1', 'm-1')).toBe('');
  });

  it('requires a reason for what the history records', () => {
    for (const action of ['set_service', 'flag', 'unflag', 'clear'] as const) {
      const given = { service: 'active', flag: 'RMA' };
      expect(missing(action, values(action, given), 'm-1', ''), action).toContain('reason');
      expect(missing(action, values(action, { ...given, reason: 'because' }), 'm-1', ''), action).toBe('');
    }
  });

  it('asks for the typed name for power that interrupts the machine, and not to switch it on', () => {
    const asked = (powerRequest: string, name = '') =>
      missing('power', values('power', { powerRequest }), 'm-1', name);
    expect(asked('')).toBe('Select what to do.');
    expect(asked('on')).toBe('');
    for (const powerRequest of ['off', 'shutdown', 'restart', 'reset', 'cycle', 'nmi', 'push-button']) {
      expect(asked(powerRequest), powerRequest).toBe('Type m-1 to confirm.');
      expect(asked(powerRequest, 'm-1'), powerRequest).toBe('');
    }
  });

  it('rejects watts and boot paths that the server would reject', () => {
    const cap = (watts: string) => missing('power_cap', values('power_cap', { watts }), 'm-1', '');
    expect([cap('450W'), cap('450'), cap('off')]).toEqual(['', '', '']);
    for (const text of ['0', '-1', 'much', '999999']) expect(cap(text), text).toContain('watts');
    const boot = (source: string, path: string) =>
      missing('boot_override', values('boot_override', { source, path }), 'm-1', '');
    expect(boot('boot-option', 'Boot0003')).toBe('');
    expect(boot('boot-option', '')).toContain('Boot0003');
    expect(boot('pxe', 'x')).toContain('not for pxe');
  });

  it('preselects the only choice, and fills in known values', () => {
    expect(firstValues('set_service', machine({ service: 'retired' }), {}).service).toBe('offline');
    expect(firstValues('decommission', machine({ service: 'retired' }), {}).mode).toBe('full_decommission');
    expect(firstValues('decommission', machine(), {}).mode).toBe('');
    expect(firstValues('onboard', machine(), { pool: 'gpu', other: 'x' }).pool).toBe('gpu');
  });

  it('says why a choice is not available', () => {
    const modes = choicesOf('decommission', 'mode', machine({ service: 'retired' }));
    expect(modes.filter(({ disabledBecause }) => disabledBecause === '').map(({ value }) => value)).toEqual([
      'full_decommission',
    ]);
    expect(modes[0]?.disabledBecause).toContain('retired');
  });

  it('offers flags that are off to set, and flags that are on to remove', () => {
    const RMA = { status: true, reason: '', message: '', lastTransition: '' };
    const flagged = machine({ conditions: { RMA } });
    expect(choicesOf('flag', 'flag', flagged).map(({ value }) => value)).toEqual(['Retired']);
    expect(choicesOf('unflag', 'flag', flagged).map(({ value }) => value)).toEqual(['RMA']);
  });
});

describe('the equivalent CLI command', () => {
  it.each<[MachineAction, Partial<Values>, string]>([
    ['reboot', {}, 'ingot reboot m-1'],
    ['reimage', { image: 'ubuntu-24.04' }, 'ingot reimage m-1 --image ubuntu-24.04'],
    ['reimage', {}, 'ingot reimage m-1'],
    ['onboard', {}, 'ingot onboard m-1 --pool <pool>'],
    ['decommission', { mode: 'soft_reset' }, 'ingot decommission m-1 --mode soft_reset'],
    [
      'set_service',
      { service: 'offline', reason: "it's fine" },
      `ingot service m-1 offline --reason 'it'\\''s fine'`,
    ],
    [
      'set_service',
      { service: 'active', force: 'true', reason: 'proven' },
      'ingot service m-1 active --force --reason proven',
    ],
    ['flag', { flag: 'RMA', reason: 'dimm' }, 'ingot flag m-1 rma --reason dimm'],
    ['clear', {}, 'ingot clear m-1 --reason …'],
    ['approve_node', { workflow: 'ubuntu' }, 'ingot node approve m-1 --workflow ubuntu'],
    ['set_install', { state: 'pending', force: 'true' }, 'ingot node state m-1 pending --force'],
    ['power', {}, 'ingot power <verb> m-1'],
    ['power', { powerRequest: 'cycle', why: 'hangs' }, 'ingot power cycle m-1 --reason hangs'],
    ['power_cap', { watts: '450' }, 'ingot power cap m-1 450'],
    ['locate', { duration: '30m' }, 'ingot locate m-1 --for 30m'],
    ['locate', { duration: '30m', off: 'true' }, 'ingot locate m-1 --off'],
    [
      'boot_override',
      { source: 'boot-option', path: 'Boot0003', continuous: 'true', firmware: 'UEFI' },
      'ingot boot-override set m-1 boot-option --path Boot0003 --mode UEFI --continuous',
    ],
    ['clear_log', {}, 'ingot bmc clear-log m-1'],
    ['trust_certificate', { fingerprint: 'ab' }, 'ingot bmc trust m-1 --fingerprint ab'],
  ])('%s', (action, given, command) => {
    expect(commandOf(action, 'm-1', values(action, given))).toBe(command);
  });
});
