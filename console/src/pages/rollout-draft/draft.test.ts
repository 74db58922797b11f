import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Draft, draftFault, isInMaintenance, newDraft, newStep, withMaintenance } from './draft.ts';
import { specJson, specOf, yamlOf } from './draft-spec.ts';
import { VERB_NAMES } from './step-verbs.ts';

const WEB = { kind: 'filter', filter: 'labels.role=web AND phase=READY', follow: false } as const;

/** The example of docs/rollouts.md. */
const ubuntu = (): Draft => ({
  ...newDraft(WEB, ['enter-maintenance', 'reimage', 'verify', 'exit-maintenance']),
  name: 'ubuntu-24.04',
  steps: [
    { ...newStep('enter-maintenance'), values: { duration: '2h', reason: 'new image' } },
    { ...newStep('reimage'), values: { image_ref: 'ubuntu-2404' } },
    { ...newStep('verify'), values: { condition: 'Provisioned', for: '30s' } },
    newStep('exit-maintenance'),
  ],
  soak: '5m',
  maxParallel: '20',
  limits: [{ key: 1, groupBy: 'location.rack', filter: '', maxUnavailable: '1' }],
  windows: [{ key: 1, days: ['mon', 'tue', 'wed'], from: '09:00', to: '16:00', timeZone: 'Europe/Berlin' }],
});

describe('the draft of a rollout', () => {
  it('starts what destroys data with one machine, and stops by failures', () => {
    const { waves, stop } = specOf(newDraft(WEB, ['reimage']));
    expect(waves).toEqual(['1', '10%', 'rest']);
    expect(stop).toMatchObject({ afterFailures: 3, failurePercent: 20, sameError: 2 });
    expect(specOf(newDraft(WEB, ['reboot'])).waves).toEqual([]);
  });

  it('is sent as it is written, and the same as a file', () => {
    expect(specOf(ubuntu())).toMatchObject({
      name: 'ubuntu-24.04',
      filter: WEB.filter,
      waves: ['1', '10%', 'rest'],
      soak: '5m',
      maxParallel: '20',
      limits: [{ groupBy: 'location.rack', maxUnavailable: '1' }],
      windows: [{ days: ['mon', 'tue', 'wed'], from: '09:00', to: '16:00', timeZone: 'Europe/Berlin' }],
      steps: [
        { step: { case: 'enterMaintenance', value: { duration: '2h', reason: 'new image' } } },
        { step: { case: 'reimage', value: { imageRef: 'ubuntu-2404' } } },
        { step: { case: 'verify', value: { condition: 'Provisioned', for: '30s' } } },
        { step: { case: 'exitMaintenance' } },
      ],
    });
    expect(parse(yamlOf(ubuntu()))).toEqual(specJson(ubuntu()));
    expect(yamlOf(ubuntu())).toContain('  - reimage: { image_ref: ubuntu-2404 }');
  });

  it('names machines by id where they were selected', () => {
    const draft = newDraft({ kind: 'ids', machineIds: ['a', 'b'] }, ['reboot']);
    expect(specOf(draft)).toMatchObject({ filter: '', machineIds: ['a', 'b'], name: 'reboot' });
  });

  it('says what is missing first', () => {
    expect(draftFault(newDraft({ ...WEB, filter: ' ' }, ['reboot']))).toBe('Enter a filter: which machines?');
    expect(draftFault(newDraft(WEB, []))).toBe('Add a step.');
    expect(draftFault(newDraft(WEB, ['onboard']))).toBe('Select a pool.');
    expect(draftFault(newDraft(WEB, ['verify']))).toBe('Enter the condition or the filter to verify.');
    expect(draftFault({ ...newDraft(WEB, ['reboot']), maxParallel: 'many' })).toContain('such as 20 or 10%');
    expect(draftFault({ ...newDraft(WEB, ['reboot']), soak: '5 minutes' })).toContain('such as 30s');
    expect(draftFault(ubuntu())).toBe('');
  });

  it('wraps steps into maintenance once', () => {
    const wrapped = withMaintenance(withMaintenance(newDraft(WEB, ['reimage'])));
    expect(wrapped.steps.map(({ verb }) => verb)).toEqual([
      'enter-maintenance',
      'reimage',
      'exit-maintenance',
    ]);
    expect(isInMaintenance(wrapped)).toBe(true);
  });

  it.each(VERB_NAMES)('can send the step %s', (verb) => {
    const draft = newDraft(WEB, [verb]);
    expect(specOf(draft).steps[0]?.step.case).toBeDefined();
  });
});
