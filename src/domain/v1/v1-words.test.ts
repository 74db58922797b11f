import { describe, expect, it } from 'vitest';
import { Fault } from '../error/fault.ts';
import { storedReason, v1Fault, v1Reason, v1Text } from './v1-words.ts';

const ID = '01m7ghbn71xpd30f3nhvapkndk';

describe('a text that may quote people', () => {
  it.each([
    [`REIMAGE op-${ID} failed at write: I/O error`, `REPAVE run-${ID} failed at write: I/O error`],
    [`waits for op-${ID}, and op-${ID}.`, `waits for run-${ID}, and run-${ID}.`],
    [
      'REIMAGE is what Ann wants; see the operation op-1',
      'REIMAGE is what Ann wants; see the operation op-1',
    ],
    [`my-op-${ID} and op-${ID}-b and REIMAGE-op-1`, `my-op-${ID} and op-${ID}-b and REIMAGE-op-1`],
  ])('%s', (text, shown) => {
    expect(v1Text(text)).toBe(shown);
  });
});

describe('a fault', () => {
  const fault = (message: string, metadata: Record<string, string> = {}) =>
    v1Fault(new Fault('MACHINE_BLOCKED', { message, metadata }));

  it.each([
    ['takes no operations', 'takes no runs'],
    ['m-1 has an active operation, op-7; wait', 'm-1 has an active run, run-7; wait'],
    ['is READY; REIMAGE needs MAINTENANCE', 'is READY; REPAVE needs MAINTENANCE'],
    ['there is no machine operation-1.operation', 'there is no machine operation-1.operation'],
  ])('%s', (text, shown) => {
    expect(fault(text, { operation_id: 'op-7' }).message).toBe(shown);
  });

  it('about what a client wrote wrongly quotes it as it was written', () => {
    const wrong = new Fault('INVALID_FIELD', { message: 'unknown field operation' });
    expect(v1Fault(wrong)).toBe(wrong);
  });

  it('has both names of the id, in the spelling of v1', () => {
    const { metadata } = fault('', { operation_id: 'op-7', type: 'REIMAGE' });
    expect(metadata).toEqual({ operation_id: 'run-7', run_id: 'run-7', type: 'REPAVE' });
  });
});

it('a reason that is shown is the one that is stored', () => {
  expect(v1Reason('ReimageFailed')).toBe('RepaveFailed');
  for (const reason of ['ReimageFailed', 'Reimaged', 'RebootFailed', 'SetByAdmin'])
    expect(storedReason(v1Reason(reason))).toBe(reason);
});
