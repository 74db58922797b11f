import { expect, it } from 'vitest';
import { LogBuffer } from './log-buffer.ts';
import { StepLines } from './step-lines.ts';

it('has the lines of its step, and those that come later', () => {
  const whole = new LogBuffer();
  const add = (step: string, text: string) => whole.append({ at: 0, stream: 'stdout', step, text });
  const lines = new StepLines('repave');
  const texts = () => {
    const shown = lines.of(whole);
    return Array.from({ length: shown.size }, (_, index) => shown.at(index)?.text);
  };
  add('reboot', 'a');
  add('repave', 'b');
  expect(texts()).toEqual(['b']);
  add('repave', 'c');
  add('verify', 'd');
  expect(texts()).toEqual(['b', 'c']);
});
