/** The log, live: followed or paused, searched, wrapped, stamped, downloaded. */
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react';
import { useKey } from '../../keyboard/shortcuts.tsx';
import { Empty, Failed } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { download } from '../../ui/download.ts';
import { Panel } from '../../ui/panel.tsx';
import type { LogLine } from './log-buffer.ts';
import { LogLines } from './log-lines.tsx';
import { firstNotBelow, hitBeside, LogSearch } from './log-search.ts';
import type { TailState } from './log-tail.ts';
import { isStampZone, type StampZone, TIME_ZONES } from './log-text.ts';
import { useLog } from './use-log.ts';
import { useViewParam } from './use-view-param.ts';

const STATES = {
  connecting: 'reading',
  live: 'live',
  reconnecting: 'reconnecting',
  paused: 'paused while the tab is hidden',
  ended: 'complete',
  failed: 'can’t be read',
} as const satisfies Record<TailState, string>;

/** How often a screen reader hears that there are new lines; it reads the lines themselves when asked to. */
const SAY_EVERY_MS = 10_000;

export function LogPanel({ operationId, isActive }: { operationId: string; isActive: boolean }) {
  const log = useLog(operationId, isActive);
  const { buffer, state } = log;
  const [follow, setFollow] = useState(true);
  const [chosen, setChosen] = useState<number | null>(null);
  const [query, setQuery] = useViewParam('q');
  const [wrapParam, setWrap] = useViewParam('wrap');
  const [zoneParam, setZone] = useViewParam('time');
  const wrap = wrapParam === 'on' ? 'on' : 'off';
  const zone: StampZone = isStampZone(zoneParam) ? zoneParam : 'local';
  const box = useRef<HTMLInputElement>(null);

  const search = useMemo(() => new LogSearch(query), [query]);
  const hits = search.hits(buffer);
  const place = chosen === null ? -1 : hits.indexOf(chosen, firstNotBelow(hits, chosen));
  const step = (side: 'next' | 'previous') => {
    // Without a place yet, the search begins at the newest line: what went wrong is usually there.
    const hit = hitBeside(hits, chosen ?? buffer.dropped + buffer.size, chosen === null ? 'previous' : side);
    if (hit === null) return;
    setFollow(false);
    setChosen(hit);
  };
  const toEnd = () => {
    setChosen(null);
    setFollow(true);
  };
  useKey('/', 'Search the log', () => box.current?.focus());
  useKey('n', 'Next line that matches', () => step('next'));
  useKey('N', 'Line before that matches', () => step('previous'));
  useKey('f', 'Follow the log, or pause', () => (follow ? setFollow(false) : toEnd()));
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    step(event.shiftKey ? 'previous' : 'next');
  };
  const save = () => download(`${operationId}.log`, 'text/plain', [buffer.text(fileLine)]);
  const none = query === '' ? 'Type what to look for first.' : hits.length === 0 ? 'No line matches.' : '';

  return (
    <Panel
      title="Log"
      padding="none"
      actions={
        <span className={`live tone-${state === 'reconnecting' || state === 'failed' ? 'orange' : 'green'}`}>
          {STATES[state]} · {buffer.size.toLocaleString('en')} {buffer.size === 1 ? 'line' : 'lines'}
        </span>
      }
    >
      <div className="log-tools" role="toolbar" aria-label="Log tools">
        <input
          ref={box}
          className="input"
          type="search"
          aria-label="Search the log"
          placeholder="Search"
          spellCheck={false}
          value={query}
          onChange={(event) => {
            setChosen(null);
            setQuery(event.target.value);
          }}
          onKeyDown={onKeyDown}
        />
        <span className="log-count numeric soft" role="status">
          {query !== '' && `${place < 0 ? '' : `${place + 1} of `}${hits.length.toLocaleString('en')} lines`}
        </span>
        <Button label="Line before that matches" disabledBecause={none} onClick={() => step('previous')}>
          ↑
        </Button>
        <Button label="Next line that matches" disabledBecause={none} onClick={() => step('next')}>
          ↓
        </Button>
        <span className="gap" />
        <Button pressed={follow} onClick={() => (follow ? setFollow(false) : toEnd())}>
          {follow ? 'Following' : 'Go to the end'}
        </Button>
        <Button pressed={wrap === 'on'} onClick={() => setWrap(wrap === 'on' ? '' : 'on')}>
          Wrap
        </Button>
        <select
          className="input"
          aria-label="Times of lines"
          value={zone}
          onChange={(event) => setZone(event.target.value)}
        >
          {Object.entries(TIME_ZONES).map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
        <Button onClick={save} disabledBecause={buffer.size === 0 ? 'There is nothing to download yet.' : ''}>
          Download
        </Button>
      </div>
      {buffer.dropped > 0 && (
        <p className="log-note soft">
          The first {buffer.dropped.toLocaleString('en')} lines are too many for this page; `ingot op logs`
          has them all.
        </p>
      )}
      {buffer.size === 0 ? (
        <div className="log">
          <NoLines state={state} error={log.error} onRetry={log.retry} />
        </div>
      ) : (
        <LogLines
          buffer={buffer}
          search={search}
          chosen={chosen}
          wrap={wrap}
          zone={zone}
          follow={follow}
          onFollow={setFollow}
        />
      )}
      <NewLines count={buffer.dropped + buffer.size} />
    </Panel>
  );
}

function NoLines({ state, error, onRetry }: { state: TailState; error: unknown; onRetry: () => void }) {
  if (state === 'failed') return <Failed what="The log can’t be read" error={error} onRetry={onRetry} />;
  if (state === 'ended')
    return (
      <Empty title="No lines">This operation wrote nothing. Its steps and its history say what it did.</Empty>
    );
  return <Empty title="No lines yet">They appear here as they are written.</Empty>;
}

/** Says now and then how many lines came, instead of reading each of them out. */
function NewLines({ count }: { count: number }) {
  const [text, setText] = useState('');
  const latest = useRef(count);
  latest.current = count;
  useEffect(() => {
    let said = latest.current;
    const timer = setInterval(() => {
      const news = latest.current - said;
      said = latest.current;
      if (news > 0) setText(`${news} new log ${news === 1 ? 'line' : 'lines'}`);
    }, SAY_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <div className="visually-hidden" role="status">
      {text}
    </div>
  );
}

function fileLine({ at, step, stream, text }: LogLine): string {
  return `${new Date(at).toISOString()} [${step}] ${stream}: ${text}`;
}
