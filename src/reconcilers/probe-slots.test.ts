import { expect, test } from 'vitest';
import { ProbeSlots } from './probe-slots.ts';

function fill(slots: ProbeSlots, provider: string): number {
  let taken = 0;
  for (; slots.room(provider) > 0; taken += 1) slots.take(provider);
  return taken;
}

test('a provider alone has every slot', () => {
  expect(fill(new ProbeSlots(64, ['only']), 'only')).toBe(64);
});

test('of several providers, each has reserved slots that no other can take', () => {
  const slots = new ProbeSlots(64, ['slow', 'slower', 'quick']);
  expect(fill(slots, 'slow')).toBe(44);
  expect(fill(slots, 'slower')).toBe(10);
  expect(fill(slots, 'quick')).toBe(10);
  slots.free('slow');
  expect(slots.room('quick')).toBe(1);
});

test('fewer slots than providers still serve every provider', () => {
  const slots = new ProbeSlots(1, ['a', 'b']);
  expect(fill(slots, 'a')).toBe(1);
  expect(slots.room('b')).toBe(0);
  slots.free('a');
  expect(slots.room('b')).toBe(1);
});
