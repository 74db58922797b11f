import { describe, expect, it } from 'vitest';
import { OPERATION_TYPE_NAMES } from './operation-type.ts';
import {
  RUN_TYPE_FILTER_NAMES,
  RUN_TYPE_NAMES,
  RUN_TYPES,
  runTypeName,
  WORK_TYPE_NAMES,
} from './work-type.ts';

describe('a run', () => {
  it('is stored under the type that document 2 has for it, or under its own', () => {
    expect(Object.fromEntries(RUN_TYPE_NAMES.map((type) => [type, RUN_TYPES[type].workType]))).toEqual({
      REPAVE: 'REIMAGE',
      RMA: 'RMA',
      REBOOT: 'REBOOT',
      UPGRADE: 'UPGRADE',
      NET_RECONFIG: 'NET_RECONFIG',
      JOIN: 'JOIN',
    });
  });

  it.each(RUN_TYPE_NAMES)('of type %s is shown as what it was started as', (type) => {
    expect(runTypeName(RUN_TYPES[type].workType)).toBe(type);
  });
});

const WORKFLOWS = ['ONBOARD', 'DECOMMISSION', 'DRAIN', 'REMOVE'] as const;
const HARDWARE_WORK = ['ERASE', 'MIGRATE'] as const;

it('work has each type of the documents once', () => {
  expect([...WORK_TYPE_NAMES].sort()).toEqual(
    [
      ...new Set([
        ...OPERATION_TYPE_NAMES,
        'JOIN',
        'NET_RECONFIG',
        'RMA',
        'UPGRADE',
        ...WORKFLOWS,
        ...HARDWARE_WORK,
      ]),
    ].sort(),
  );
  expect(new Set(WORK_TYPE_NAMES).size).toBe(WORK_TYPE_NAMES.length);
});

it('document 1 can be asked for each type by the name that it shows', () => {
  expect(RUN_TYPE_FILTER_NAMES).toEqual(expect.arrayContaining([...RUN_TYPE_NAMES, 'ENTER_MAINTENANCE']));
  expect(RUN_TYPE_FILTER_NAMES).not.toContain('REIMAGE');
  expect(new Set(RUN_TYPE_FILTER_NAMES).size).toBe(WORK_TYPE_NAMES.length);
});
