/** One item as lines, a field each, for what has no view of its own: the columns of -o wide. */
import type { Rendering } from './format.ts';
import { padEnd, plainText } from './plain-text.ts';
import type { TextSink } from './text-sink.ts';

export function writeFields<T>(sink: TextSink, { wideColumns }: Rendering<T>, item: T): void {
  const titled = wideColumns.map(({ header, cell, colour }) => {
    const words = header.toLowerCase().replaceAll('_', ' ');
    return { title: `${words.charAt(0).toUpperCase()}${words.slice(1)}:`, text: cell(item), colour };
  });
  const width = Math.max(...titled.map(({ title }) => title.length)) + 2;
  for (const { title, text, colour } of titled)
    sink.line(`${padEnd(title, width)}${sink.colour(plainText(text) || '-', colour?.(item))}`);
}
