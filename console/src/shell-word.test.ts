import { describe, expect, it } from 'vitest';
import { shellWord } from './shell-word.ts';

describe('a shell word', () => {
  it('stays as it is where the shell would not interpret it', () => {
    expect(shellWord('rack-7/u12:22@x=1,2')).toBe('rack-7/u12:22@x=1,2');
  });

  it('is quoted where the shell would, also where it has quotes itself', () => {
    expect(shellWord("it's $(rm) `x`")).toBe(`'it'\\''s $(rm) \`x\`'`);
    expect(shellWord('$(reboot)')).toBe(`'$(reboot)'`);
    expect(shellWord('')).toBe(`''`);
  });
});
