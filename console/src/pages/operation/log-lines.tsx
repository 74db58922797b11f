/** The lines of the log; only visible ones are rendered. */
import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, type UIEvent, useCallback, useEffect, useLayoutEffect, useRef } from 'react';
import { clockWithZone } from '../../ui/clock-text.ts';
import type { LogBuffer, LogLine } from './log-buffer.ts';
import type { LogSearch } from './log-search.ts';
import { type StampZone, stampText } from './log-text.ts';

export interface LogLinesProps {
  readonly buffer: LogBuffer;
  readonly search: LogSearch;
  /** The current search match; scrolled into view when it changes. */
  readonly chosen: number | null;
  readonly wrap: 'on' | 'off';
  readonly zone: StampZone;
  readonly follow: boolean;
  readonly onFollow: (follow: boolean) => void;
}

const LINE_PX = 20;
/** The rest of a longer line is in the download. */
const LONGEST_SHOWN = 4_000;
/** Columns before the text: time, step, stream. */
const MARGIN_CH = 48;
/** A scroll within this time after a wheel, key or pointer event is the user's; any other is the page's own. */
const INTENT_MS = 1_000;
const AT_END_PX = 12;

export function LogLines(props: LogLinesProps) {
  const { buffer, search, chosen, wrap, zone, follow, onFollow } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const { dropped, size } = buffer;
  const getItemKey = useCallback((index: number) => dropped + index, [dropped]);
  const virtualizer = useVirtualizer({
    count: size,
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE_PX,
    getItemKey,
    overscan: 20,
    useFlushSync: false,
  });

  // biome-ignore lint/correctness/useExhaustiveDependencies: measured heights are valid for one wrap mode only
  useLayoutEffect(() => virtualizer.measure(), [wrap]);

  const height = virtualizer.getTotalSize();
  // biome-ignore lint/correctness/useExhaustiveDependencies: any growth moves the end
  useLayoutEffect(() => {
    if (follow && scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight;
  }, [follow, height, size]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls only when the match changes
  useEffect(() => {
    if (chosen !== null) virtualizer.scrollToIndex(chosen - dropped, { align: 'center' });
  }, [chosen]);

  const lastIntent = useRef(0);
  const lastTop = useRef(0);
  const onIntent = () => {
    lastIntent.current = performance.now();
  };
  const onScroll = ({ currentTarget }: UIEvent<HTMLDivElement>) => {
    const { scrollTop, scrollHeight, clientHeight } = currentTarget;
    const isAtEnd = scrollHeight - scrollTop - clientHeight < AT_END_PX;
    const wentUp = scrollTop < lastTop.current;
    lastTop.current = scrollTop;
    if (performance.now() - lastIntent.current > INTENT_MS) return;
    if (follow && wentUp && !isAtEnd) onFollow(false);
    if (!follow && !wentUp && isAtEnd) onFollow(true);
  };
  return (
    <div
      ref={scroller}
      className={wrap === 'on' ? 'log wraps' : 'log'}
      role="log"
      aria-live="off"
      aria-label="Log lines"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls what has the focus
      tabIndex={0}
      onScroll={onScroll}
      onWheel={onIntent}
      onKeyDown={onIntent}
      onPointerDown={onIntent}
      onPointerMove={(event) => event.buttons !== 0 && onIntent()}
      onTouchMove={onIntent}
    >
      <div
        className="log-canvas"
        style={{
          height: `${height}px`,
          ...(wrap === 'off' && {
            minWidth: `${Math.min(buffer.longest, LONGEST_SHOWN) + MARGIN_CH}ch`,
          }),
        }}
      >
        {virtualizer.getVirtualItems().map(({ index, key, start }) => {
          const line = buffer.at(index);
          if (!line) return null;
          return (
            <div
              key={key}
              data-index={index}
              ref={wrap === 'on' ? virtualizer.measureElement : undefined}
              className="log-place"
              style={{ transform: `translateY(${start}px)` }}
            >
              <Line line={line} search={search} zone={zone} isChosen={line.number === chosen} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

interface LineProps {
  readonly line: LogLine;
  readonly search: LogSearch;
  readonly zone: StampZone;
  readonly isChosen: boolean;
}

const Line = memo(function Line({ line, search, zone, isChosen }: LineProps) {
  const { at, stream, step, text } = line;
  const isError = stream === 'stderr';
  const rest = text.length - LONGEST_SHOWN;
  return (
    <div className={`log-line${isError ? ' stderr' : ''}${isChosen ? ' chosen' : ''}`}>
      {zone !== 'off' && (
        <time
          className="log-stamp"
          dateTime={new Date(at).toISOString()}
          title={clockWithZone(at, zone === 'utc' ? 'local' : 'utc')}
        >
          {stampText(at, zone)}
        </time>
      )}
      <span className="log-step" title={step}>
        {step}
      </span>
      <span className="log-stream">{isError ? 'stderr' : ''}</span>
      <span className="log-text">
        {search.parts(text.slice(0, LONGEST_SHOWN)).map((part, place) =>
          // biome-ignore lint/suspicious/noArrayIndexKey: parts have no other identity than their position
          part.isMatch ? <mark key={place}>{part.text}</mark> : part.text,
        )}
        {rest > 0 && <em className="soft"> … {rest} more characters in the download</em>}
      </span>
    </div>
  );
});
