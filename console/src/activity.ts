/**
 * Whether a user is at this page. Pages fetch by themselves when something changes; requests that no user is there for carry
 * a header, so that a console on an empty desk does not keep its session alive.
 */
const PRESENT_MS = 60_000;
const SIGNS = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart', 'focus'] as const;

let lastSignAt = Date.now();

export function watchActivity(): void {
  const note = () => {
    lastSignAt = Date.now();
  };
  for (const sign of SIGNS) window.addEventListener(sign, note, { capture: true, passive: true });
}

export function unattendedHeaders(): Record<string, string> {
  return Date.now() - lastSignAt < PRESENT_MS ? {} : { 'x-ingot-unattended': '1' };
}
