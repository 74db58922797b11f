import { expect, test } from 'vitest';
import { waitText } from './progress-text.ts';

test('what an operation waits for is said once, however the step words it', () => {
  expect(waitText('Waiting for the BMC')).toBe('waiting for the BMC');
  expect(waitText('the BMC')).toBe('waiting for the BMC');
});
