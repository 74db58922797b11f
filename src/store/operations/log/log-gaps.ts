/**
 * A log keeps its first and its last part (src/engine/job-log.ts). A reader that crosses the gap gets a line with how much is
 * missing; one that followed the log while it was written has read those lines, and gets none.
 */
import type { KeptLine, LogPart, LogPosition, StoredLine } from './read-log.ts';

export interface ReadUpTo extends LogPosition {
  readonly part: LogPart;
}

export function withGaps(before: ReadUpTo, lines: readonly KeptLine[]): StoredLine[] {
  let last = before;
  return lines.flatMap((line) => {
    const mark = markBefore(line, last);
    last = { epoch: line.epoch, line: line.line, part: line.tail ? 'tail' : 'head' };
    return mark === null ? [line] : [lineBefore(line, mark), line];
  });
}

function markBefore(line: KeptLine, last: ReadUpTo): string | null {
  if (last.part === 'start' || last.part === 'head') {
    if (!line.tail || line.omittedLines === 0) return null;
    return `… ${countText(line.omittedLines)} (${bytesText(line.omittedBytes)}) left out …`;
  }
  // Lines that were removed before this reader reached them: the line numbers show how many.
  const missing = line.epoch === last.epoch ? line.line - last.line - 1 : line.line;
  return missing > 0 ? `… ${countText(missing)} left out …` : null;
}

/** Greater than the number of every line, so that the position is right before the first line of the next epoch. */
const BEHIND_ALL_LINES = 2 ** 31 - 1;

/** Its position is right before the line that follows, and no line has it: a reader that resumes there misses nothing. */
function lineBefore({ epoch, line, at, step }: KeptLine, text: string): StoredLine {
  const position = line > 0 ? { epoch, line: line - 1 } : { epoch: epoch - 1, line: BEHIND_ALL_LINES };
  return { ...position, at, step, stream: 'stderr', text };
}

function countText(lines: number): string {
  return lines === 1 ? '1 line' : `${lines.toLocaleString('en-US')} lines`;
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

function bytesText(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const value = bytes / 1000 ** power;
  return `${power === 0 ? value : value.toFixed(1)} ${UNITS[power]}`;
}
