/** 1 machine, 1,200 machines. */
export function countText(count: number, noun = 'machine'): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}
