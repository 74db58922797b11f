/** The live log, with search, wrapping, timestamps and download. */
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react';
import { useKey } from '../../keyboard/shortcuts.tsx';
import { Empty, Failed } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { download } from '../../ui/download.ts';
import { Icon } from '../../ui/icon.tsx';
import { Panel } from '../../ui/panel.tsx';
import { useUrlParam } from '../../ui/use-url-param.ts';
import { useZone } from '../../ui/zone.ts';
import type { LogBuffer, LogLine } from './log-buffer.ts';
import { LogLines } from './log-lines.tsx';
import { firstNotBelow, hitBeside, LogSearch } from './log-search.ts';
import type { TailState } from './log-tail.ts';
import type { StampZone } from './log-text.ts';
import { StepLines } from './step-lines.ts';
import { useLog } from './use-log.ts';

const STATES = {
  connecting: 'loading',
  live: 'live',
  reconnecting: 'reconnecting',
  paused: 'paused while the tab is hidden',
  ended: 'complete',
  failed: 'failed to load',
} as const satisfies Record<TailState, string>;

/** How often a screen reader announces new lines; it reads the lines themselves on request. */
const ANNOUNCE_EVERY_MS = 10_000;

export interface LogPanelProps {
  readonly operationId: string;
  readonly isActive: boolean;
  /** Only its lines are shown; empty: all are. */
  readonly step: string;
  readonly onStep: (step: string) => void;
}

export function LogPanel({ operationId, isActive, step, onStep }: LogPanelProps) {
  const log = useLog(operationId, isActive);
  const { state } = log;
  const ofStep = useMemo(() => (step === '' ? null : new StepLines(step)), [step]);
  const buffer = ofStep ? ofStep.of(log.buffer) : log.buffer;
  const [follow, setFollow] = useState(true);
  const search = useSearch(buffer, () => setFollow(false));
  const [wrapParam, setWrap] = useUrlParam('wrap', 'replace');
  const [timeParam, setTime] = useUrlParam('time', 'replace');
  const wrap = wrapParam === 'on' ? 'on' : 'off';
  const chosenZone = useZone();
  const zone: StampZone = timeParam === 'off' ? 'off' : chosenZone;
  const toggleFollow = () => {
    if (!follow) search.leave();
    setFollow(!follow);
  };
  useKey('f', 'Follow or pause the log', toggleFollow);
  const save = () => download(`${operationId}.log`, 'text/plain', [log.buffer.text(fileLine)]);
  return (
    <Panel
      title={step === '' ? 'Log' : `Log of ${step}`}
      padding="none"
      actions={
        <span className={`live tone-${state === 'reconnecting' || state === 'failed' ? 'orange' : 'green'}`}>
          {STATES[state]} · {buffer.size.toLocaleString('en')} {buffer.size === 1 ? 'line' : 'lines'}
        </span>
      }
    >
      <div className="log-tools" role="toolbar" aria-label="Log tools">
        {step !== '' && <Button onClick={() => onStep('')}>Show all steps</Button>}
        <SearchControls search={search} />
        <span className="gap" />
        <Button pressed={follow} onClick={toggleFollow}>
          {follow ? 'Following' : 'Follow'}
        </Button>
        <Button pressed={wrap === 'on'} onClick={() => setWrap(wrap === 'on' ? '' : 'on')}>
          Wrap
        </Button>
        <Button pressed={zone !== 'off'} onClick={() => setTime(zone === 'off' ? '' : 'off')}>
          Times
        </Button>
        <Button
          label="Download"
          onClick={save}
          disabledBecause={buffer.size === 0 ? 'No lines to download yet.' : ''}
        >
          <Icon name="download" />
        </Button>
      </div>
      {log.buffer.dropped > 0 && (
        <p className="log-note soft">
          The first {log.buffer.dropped.toLocaleString('en')} lines are not shown here. Use{' '}
          <code>ingot op logs {operationId}</code> for the whole log.
        </p>
      )}
      {buffer.size === 0 ? (
        <div className="log">
          <NoLines state={state} error={log.error} onRetry={log.retry} />
        </div>
      ) : (
        <LogLines
          buffer={buffer}
          search={search.search}
          chosen={search.chosen}
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

/** The search of the log: its text in the URL, its matches, and the current one. */
function useSearch(buffer: LogBuffer, onMatch: () => void) {
  const [query, setQuery] = useUrlParam('q', 'replace');
  const [chosen, setChosen] = useState<number | null>(null);
  const search = useMemo(() => new LogSearch(query), [query]);
  const hits = search.hits(buffer);
  return {
    query,
    search,
    hits,
    chosen,
    /** The index of the current match; -1: none. */
    index: chosen === null ? -1 : hits.indexOf(chosen, firstNotBelow(hits, chosen)),
    type(text: string) {
      setChosen(null);
      setQuery(text);
    },
    step(side: 'next' | 'previous') {
      // The first step starts at the newest line: errors are usually at the end.
      const hit = hitBeside(
        hits,
        chosen ?? buffer.dropped + buffer.size,
        chosen === null ? 'previous' : side,
      );
      if (hit === null) return;
      onMatch();
      setChosen(hit);
    },
    leave: () => setChosen(null),
  };
}

function SearchControls({ search }: { search: ReturnType<typeof useSearch> }) {
  const { query, hits, index, step, type } = search;
  const box = useRef<HTMLInputElement>(null);
  useKey('/', 'Search the log', () => box.current?.focus());
  useKey('n', 'Next match', () => step('next'));
  useKey('N', 'Previous match', () => step('previous'));
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    step(event.shiftKey ? 'previous' : 'next');
  };
  const none = query === '' ? 'Enter a search text first.' : hits.length === 0 ? 'No matches.' : '';
  const position = index < 0 ? '' : `${index + 1} of `;
  return (
    <>
      <input
        ref={box}
        className="input"
        type="search"
        aria-label="Search the log"
        placeholder="Search"
        spellCheck={false}
        value={query}
        onChange={(event) => type(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <span className="log-count numeric soft" role="status">
        {query !== '' && `${position}${hits.length.toLocaleString('en')} lines`}
      </span>
      <Button label="Previous match" disabledBecause={none} onClick={() => step('previous')}>
        ↑
      </Button>
      <Button label="Next match" disabledBecause={none} onClick={() => step('next')}>
        ↓
      </Button>
    </>
  );
}

function NoLines({ state, error, onRetry }: { state: TailState; error: unknown; onRetry: () => void }) {
  if (state === 'failed') return <Failed what="Failed to load the log" error={error} onRetry={onRetry} />;
  if (state === 'ended')
    return <Empty title="No lines">This operation wrote no log. See its steps and its history.</Empty>;
  return <Empty title="No lines yet">Lines appear here as they are written.</Empty>;
}

/** Announces the number of new lines to screen readers, instead of each line. */
function NewLines({ count }: { count: number }) {
  const [text, setText] = useState('');
  const latest = useRef(count);
  latest.current = count;
  useEffect(() => {
    let announced = latest.current;
    const timer = setInterval(() => {
      const news = latest.current - announced;
      announced = latest.current;
      if (news > 0) setText(`${news} new log ${news === 1 ? 'line' : 'lines'}`);
    }, ANNOUNCE_EVERY_MS);
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
