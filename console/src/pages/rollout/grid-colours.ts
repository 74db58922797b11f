/** The colours of the style sheets for a canvas, which cannot use their variables. */
import { type RefObject, useEffect, useState } from 'react';
import type { Tone } from '../../../../src/domain/tone.ts';
import type { Colours } from './grid-paint.ts';

const TONES = ['gray', 'green', 'blue', 'yellow', 'orange', 'red'] as const satisfies readonly Tone[];

/** Another value when the colours change: by the system's setting, or by the user's choice. */
export function useColours(inside: RefObject<HTMLElement | null>): Colours | null {
  const [colours, setColours] = useState<Colours | null>(null);
  useEffect(() => {
    const element = inside.current;
    if (!element) return;
    const read = () => setColours(readColours(element));
    read();
    const dark = window.matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', read);
    const choice = new MutationObserver(read);
    choice.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    return () => {
      dark.removeEventListener('change', read);
      choice.disconnect();
    };
  }, [inside]);
  return colours;
}

function readColours(element: HTMLElement): Colours {
  const probe = document.createElement('span');
  probe.hidden = true;
  element.append(probe);
  const resolved = (value: string) => {
    probe.style.color = value;
    return getComputedStyle(probe).color;
  };
  const tone = (name: Tone) => ({
    mark: resolved(`var(--${name}-mark)`),
    fill: resolved(`var(--${name}-fill)`),
  });
  const colours: Colours = {
    tones: Object.fromEntries(TONES.map((name) => [name, tone(name)])) as unknown as Colours['tones'],
    text: resolved('var(--text)'),
    soft: resolved('var(--text-soft)'),
    surface: resolved('var(--surface)'),
    focus: resolved('var(--focus)'),
    font: getComputedStyle(element).fontFamily,
  };
  probe.remove();
  return colours;
}
