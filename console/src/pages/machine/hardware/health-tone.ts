const TONES: Readonly<Record<string, 'green' | 'yellow' | 'red'>> = {
  OK: 'green',
  Warning: 'yellow',
  Critical: 'red',
};

export function healthTone(health: string): 'green' | 'yellow' | 'red' | 'gray' {
  return TONES[health] ?? 'gray';
}
