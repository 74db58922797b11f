import { describe, expect, it } from 'vitest';
import { OPERATION_TYPE_NAMES } from '../operation/operation-type.ts';
import { RUN_TYPE_FILTER_NAMES, RUN_TYPE_NAMES, RUN_TYPES, runTypeName } from './run-type.ts';

describe('a run', () => {
  it('is stored under the type that operations have for it', () => {
    expect(Object.fromEntries(RUN_TYPE_NAMES.map((type) => [type, RUN_TYPES[type].operationType]))).toEqual({
      REPAVE: 'REIMAGE',
      RMA: 'RMA',
      REBOOT: 'REBOOT',
      UPGRADE: 'UPGRADE',
      NET_RECONFIG: 'NET_RECONFIG',
      JOIN: 'JOIN',
    });
  });

  it.each(RUN_TYPE_NAMES)('of type %s is shown under the name that it was started with', (type) => {
    expect(runTypeName(RUN_TYPES[type].operationType)).toBe(type);
  });
});

it('a filter of runs takes each type by the name that v1 shows', () => {
  expect(RUN_TYPE_FILTER_NAMES).toEqual(expect.arrayContaining([...RUN_TYPE_NAMES, 'ENTER_MAINTENANCE']));
  expect(RUN_TYPE_FILTER_NAMES).not.toContain('REIMAGE');
  expect(new Set(RUN_TYPE_FILTER_NAMES).size).toBe(OPERATION_TYPE_NAMES.length);
});
