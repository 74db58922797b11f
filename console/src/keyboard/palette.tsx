/** Ctrl-K: finds machines, operations and rollouts by the start of their ids, rollouts by name, pages, and the actions of this page. */
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { listOf, PAGES } from '../pages.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { usePageActions } from './page-actions.tsx';
import { useFound } from './use-found.ts';

interface Entry {
  readonly key: string;
  readonly group: string;
  readonly text: string;
  readonly hint: string;
  readonly run: () => void;
}

const TYPING_MS = 150;

export function Palette({ onClose, onGo }: { onClose: () => void; onGo: (href: string) => void }) {
  const [text, setText] = useState('');
  const [marked, setMarked] = useState(0);
  const listId = useId();
  const list = useRef<HTMLDivElement>(null);
  const { entries, isSearching } = useEntries(text.trim(), onClose, onGo);
  const current = Math.min(marked, Math.max(0, entries.length - 1));
  const choose = (entry: Entry | undefined) => entry?.run();
  // Enter acts on the results for the whole text: if they are not here yet, it waits for them.
  const [enterPressed, setEnterPressed] = useState(false);
  useEffect(() => {
    if (!enterPressed || isSearching) return;
    setEnterPressed(false);
    entries[0]?.run();
  });
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  });
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setMarked((current + step + entries.length) % Math.max(1, entries.length));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      if (isSearching && marked === 0) setEnterPressed(true);
      else choose(entries[current]);
    }
  };
  return (
    <Dialog
      title="Search machines, operations, rollouts and actions"
      onClose={onClose}
      size="wide"
      foot={<Button onClick={onClose}>Close</Button>}
    >
      <input
        className="input"
        role="combobox"
        aria-label="Search"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={entries[current] && `${listId}-${current}`}
        placeholder="Search by id, page or action"
        autoFocus
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setMarked(0);
          setEnterPressed(false);
        }}
        onKeyDown={onKeyDown}
      />
      <div className="palette" role="listbox" id={listId} aria-label="Results" ref={list}>
        {entries.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input above has the focus and handles the keys
          <div
            key={entry.key}
            id={`${listId}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === current}
            onClick={() => choose(entry)}
          >
            <span className="soft">{entry.group}</span>
            <span>{entry.text}</span>
            <span className="soft">{entry.hint}</span>
          </div>
        ))}
      </div>
      {entries.length === 0 && <p className="soft">No results</p>}
    </Dialog>
  );
}

function useEntries(
  text: string,
  onClose: () => void,
  onGo: (href: string) => void,
): { entries: Entry[]; isSearching: boolean } {
  const asked = useSettled(text);
  const actions = usePageActions();
  const { found: results, isFetching } = useFound(asked);
  const wanted = text.toLowerCase();
  const matching = (entry: Entry) => `${entry.group} ${entry.text}`.toLowerCase().includes(wanted);
  const link = (group: string, key: string, hint: string, href: string): Entry => ({
    key: `${group}\n${key}`,
    group,
    text: key,
    hint,
    run: () => {
      onClose();
      onGo(href);
    },
  });
  const known = [
    ...actions.map((action) => ({
      key: `Action\n${action.text}`,
      group: 'Action',
      text: action.text,
      hint: action.disabledBecause,
      run: () => {
        if (action.disabledBecause !== '') return;
        onClose();
        action.run();
      },
    })),
    ...PAGES.map(({ href, title }) => link('Page', title, '', href)),
  ];
  // Results for an earlier text do not count.
  const isSettled = asked === text;
  const found = (isSettled ? results : []).map(({ group, id, hint, href }) => link(group, id, hint, href));
  const exact = found.filter((entry) => entry.text === text);
  const entries = [
    // A complete id means the machine or operation, not an action on it.
    ...exact,
    ...known.filter(matching),
    ...found.filter((entry) => entry.text !== text),
    ...(text === '' ? [] : [link('Search', `Machines matching ${text}`, '', listOf('/machines', text))]),
  ];
  const isSearching = text !== '' && (!isSettled || isFetching);
  return { entries, isSearching };
}

/** The text, once the user stops typing. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
