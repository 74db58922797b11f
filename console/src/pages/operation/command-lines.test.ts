import { describe, expect, it } from 'vitest';
import { actionLine, startLine } from './command-lines.ts';

describe('CLI commands of an operation', () => {
  it('start the same operation again', () => {
    const machineId = 'm-1';
    const work = { machineId, planId: '', params: {} };
    expect(startLine({ ...work, type: 'REIMAGE', params: { image_ref: 'ubuntu-2204' } })).toBe(
      'ingot reimage m-1 --image ubuntu-2204',
    );
    expect(startLine({ ...work, type: 'ENTER_MAINTENANCE' })).toBe('ingot enter-maintenance m-1');
    expect(startLine({ ...work, type: 'ONBOARD', params: { pool: 'p' } })).toBe('ingot onboard m-1 --pool p');
    expect(startLine({ ...work, type: 'REIMAGE', planId: 'default-repave' })).toBe(
      'ingot run start m-1 --type REPAVE --plan default-repave',
    );
  });

  it('are safe to paste, whatever the reason contains', () => {
    expect(actionLine('retry_stage', 'op-1', 'disk was replaced')).toBe(
      "ingot op retry-stage op-1 --reason 'disk was replaced'",
    );
  });
});
