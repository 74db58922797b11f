import { create } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { RolloutSpecSchema } from '../../../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { gateText, limitText, stepText, stopTexts, wavesText } from './spec-text.ts';

it('a spec reads as short texts', () => {
  const spec = create(RolloutSpecSchema, {
    steps: [
      { step: { case: 'enterMaintenance', value: { duration: '2h', exitWhenOver: true } } },
      { step: { case: 'reimage', value: { imageRef: 'ubuntu-2404' } } },
      { step: { case: 'reboot', value: {} } },
    ],
    waves: ['1', '10%', 'rest'],
    gates: ['', 'approval'],
    limits: [{ groupBy: 'location.rack', maxUnavailable: '1' }],
    stop: { afterFailures: 3, sameError: 2, cancelRunning: true },
  });
  expect(spec.steps.map(stepText)).toEqual([
    'enter-maintenance duration=2h exit_when_over',
    'reimage image_ref=ubuntu-2404',
    'reboot',
  ]);
  expect(wavesText(spec)).toBe('1, 10%, rest');
  expect(gateText(spec)).toBe('automatic, approval');
  expect(spec.limits.map(limitText)).toEqual(['1 unavailable per location.rack']);
  expect(stopTexts(spec.stop)).toEqual([
    'after 3 failures',
    'at the same error 2 times',
    'and cancel what is under way',
  ]);
});
