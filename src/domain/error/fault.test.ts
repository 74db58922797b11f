import { describe, expect, it } from 'vitest';
import { actorLabel, ROLES, roleCovers } from '../actor.ts';
import { Fault, invalidField, missingField, unmetPrecondition } from './fault.ts';

describe('a Fault', () => {
  it('keeps what each audience needs', () => {
    const context = new Error('the row was locked');
    const fault = new Fault('UPLOAD_BUSY', {
      message: 'try again',
      metadata: { machine_id: 'm-1' },
      violations: [{ subject: 'machines/m-1', description: 'is busy' }],
      context,
    });
    expect(fault).toBeInstanceOf(Error);
    expect(fault).toMatchObject({
      name: 'Fault',
      kind: 'aborted',
      reason: 'UPLOAD_BUSY',
      message: 'try again',
      metadata: { machine_id: 'm-1' },
      violations: [{ subject: 'machines/m-1', description: 'is busy' }],
    });
    expect(fault.context).toBe(context);
  });

  it('has no metadata and no violations unless it is given some', () => {
    expect(new Fault('INTERNAL', { message: 'x' })).toMatchObject({
      metadata: {},
      violations: [],
    });
  });
});

describe('a fault about what a request depends on', () => {
  it('is a failed precondition, whatever class the reason has by itself', () => {
    const missing = unmetPrecondition('POOL_NOT_FOUND', { message: 'there is no pool a' });
    expect(missing).toMatchObject({ kind: 'failed_precondition', reason: 'POOL_NOT_FOUND' });
    expect(new Fault('POOL_NOT_FOUND', { message: 'there is no pool a' }).kind).toBe('not_found');
  });
});

describe('faults about a field', () => {
  it('name it for people and for programs', () => {
    expect(invalidField('spec.provider', 'is odd')).toMatchObject({
      kind: 'invalid_argument',
      reason: 'INVALID_FIELD',
      message: 'spec.provider: is odd',
      metadata: { field: 'spec.provider' },
      violations: [{ subject: 'spec.provider', description: 'is odd' }],
    });
    expect(missingField('request_id')).toMatchObject({
      kind: 'invalid_argument',
      reason: 'MISSING_FIELD',
      message: 'request_id is required',
      metadata: { field: 'request_id' },
      violations: [{ subject: 'request_id', description: 'is required' }],
    });
  });
});

describe('roles', () => {
  it('cover themselves and what comes before them', () => {
    for (const [rank, held] of ROLES.entries()) {
      for (const [needed, role] of ROLES.entries()) expect(roleCovers(held, role)).toBe(rank >= needed);
    }
  });
});

describe('an actor', () => {
  it('is shown with its kind', () => expect(actorLabel({ kind: 'admin', id: 'ann' })).toBe('admin:ann'));
});
