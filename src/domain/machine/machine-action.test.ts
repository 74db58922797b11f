import { describe, expect, it } from 'vitest';
import { installLifecycle } from '../install/install-state.ts';
import { checkTransition, statesOf } from '../lifecycle/lifecycle.ts';
import { BMC_ACTION_NAMES } from './bmc-action.ts';
import {
  type ActionMachine,
  flagsSet,
  flagsToSet,
  installStatesByHand,
  isMachineAction,
  MACHINE_ACTION_NAMES,
  MACHINE_ACTIONS,
} from './machine-action.ts';

const set = { status: true, reason: 'R', message: '', lastTransition: '' };
const machine = (changed: Partial<ActionMachine> = {}): ActionMachine => ({
  machineId: 'm-1',
  phase: 'READY',
  service: null,
  install: null,
  whyNoBmc: 'm-1 has no BMC.',
  conditions: {},
  activeOperationId: null,
  ...changed,
});
const possible = (changed: Partial<ActionMachine>) =>
  MACHINE_ACTION_NAMES.filter((action) => MACHINE_ACTIONS[action].whyNot(machine(changed)) === null);

describe('what can be done about a machine', () => {
  it('follows from its state', () => {
    expect(possible({})).toEqual(['reboot', 'enter_maintenance', 'onboard', 'flag']);
    expect(possible({ service: 'active' })).toEqual([
      'reboot',
      'enter_maintenance',
      'drain',
      'decommission',
      'flag',
    ]);
    expect(possible({ service: 'retired' })).toContain('decommission');
    expect(possible({ service: 'retired' })).toContain('remove');
    expect(possible({ install: 'discovered' })).toContain('approve_node');
    expect(possible({ install: 'retired' })).not.toContain('set_install');
    expect(possible({ conditions: { NeedsIntervention: set } })).toContain('clear');
    expect(possible({ conditions: { RMA: set } })).toEqual(['flag', 'unflag']);
    expect(possible({ conditions: { RMA: set, Retired: set } })).toEqual(['unflag']);
  });

  it('says why not in a sentence that names the machine', () => {
    for (const action of MACHINE_ACTION_NAMES) {
      const busy = machine({
        phase: 'FACTORY_READY',
        activeOperationId: 'op-1',
        service: 'bootstrap_issued',
      });
      const reason = MACHINE_ACTIONS[action].whyNot(busy);
      if (action !== 'flag') expect(reason, action).toMatch(/m-1.*\.$/);
    }
  });

  it('asks for the name where data or the identity is lost', () => {
    const named = MACHINE_ACTION_NAMES.filter((action) => MACHINE_ACTIONS[action].confirm === 'name');
    expect(named).toEqual(['reimage', 'onboard', 'decommission', 'remove', 'erase', 'clear_log']);
  });

  it('has its BMC take operations one at a time, and calls at any time', () => {
    const withBmc = { whyNoBmc: null };
    expect(possible(withBmc)).toEqual(expect.arrayContaining(BMC_ACTION_NAMES));
    const calls = ['locate', 'trust_certificate'];
    const ofBmc = (changed: Partial<ActionMachine>) =>
      BMC_ACTION_NAMES.filter((action) => possible({ ...withBmc, ...changed }).includes(action));
    expect(ofBmc({ activeOperationId: 'op-1' })).toEqual(calls);
    expect(ofBmc({ conditions: { RMA: set } })).toEqual(calls);
    expect(ofBmc({ service: 'deleted' })).toEqual([]);
    expect(ofBmc({ whyNoBmc: 'm-1 has no BMC.' })).toEqual([]);
  });

  it('is a closed set', () => {
    expect(isMachineAction('reboot')).toBe(true);
    expect(isMachineAction('toString')).toBe(false);
  });
});

describe('flags', () => {
  it('are set or to be set', () => {
    expect(flagsSet(machine({ conditions: { Retired: set } }))).toEqual(['Retired']);
    expect(flagsToSet(machine({ conditions: { Retired: set } }))).toEqual(['RMA']);
  });
});

describe('install states that an admin may set', () => {
  it('are transitions of the table', () => {
    for (const from of statesOf(installLifecycle)) {
      for (const { to, when } of installStatesByHand(from)) {
        expect(checkTransition(installLifecycle, from, to, 'admin').when).toBe(when);
      }
    }
    expect(installStatesByHand('installed').map(({ to }) => to)).toEqual([
      'active',
      'reprovision',
      'retired',
    ]);
  });
});
