/** The filter input with suggestions. Enter applies the filter, Escape reverts it. */
import {
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import {
  type Known,
  type Suggestion,
  suggest,
  valueField,
} from '../../../../src/client/filter-suggestions.ts';
import { useKey } from '../../keyboard/shortcuts.tsx';
import { Button } from '../../ui/button.tsx';
import type { FilterFault } from './filter-text.ts';
import { useExistingValues } from './use-existing-values.ts';

export interface SearchBoxProps {
  readonly value: string;
  readonly onApply: (filter: string) => void;
  readonly fault: FilterFault | null;
  readonly known: () => Known;
  /** Further controls at the end of the line. */
  readonly children?: ReactNode;
}

export function SearchBox({ value, onApply, fault, known, children }: SearchBoxProps) {
  const input = useRef<HTMLInputElement>(null);
  const listId = useId();
  const box = useSuggestions(value, known, input);
  const { text, options, isExpanded, marked } = box;
  useKey('/', 'Search', () => input.current?.focus());
  useEffect(() => {
    // Selects the error, so that typing replaces it.
    if (fault && document.activeElement === input.current)
      input.current?.setSelectionRange(fault.offset, fault.offset + 1);
  }, [fault]);
  const apply = (filter: string) => {
    box.close();
    onApply(filter);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const chosen = isExpanded ? options[marked] : undefined;
    const isAccept = chosen && (event.key === 'Enter' || event.key === 'Tab');
    if (step === undefined && !isAccept && event.key !== 'Enter' && event.key !== 'Escape') return;
    event.preventDefault();
    if (step !== undefined) box.move(step);
    else if (isAccept) box.accept(chosen);
    else if (event.key === 'Enter') apply(text);
    else box.revert();
  };
  return (
    <search className="machine-search">
      <div className="box">
        <input
          ref={input}
          className="input mono"
          role="combobox"
          aria-label="Filter"
          aria-autocomplete="list"
          aria-expanded={isExpanded}
          aria-controls={listId}
          aria-activedescendant={isExpanded && marked >= 0 ? `${listId}-${marked}` : undefined}
          aria-invalid={fault !== null || undefined}
          autoComplete="off"
          spellCheck={false}
          placeholder="phase=READY AND location.rack=r42, or part of an id"
          value={text}
          onChange={({ target }) => box.type(target.value, target.selectionStart ?? target.value.length)}
          onSelect={box.followCaret}
          onFocus={box.open}
          onBlur={box.close}
          onKeyDown={onKeyDown}
        />
        <Options id={listId} options={isExpanded ? options : []} marked={marked} onChoose={box.accept} />
      </div>
      <Button onClick={() => apply(text)}>Apply</Button>
      <Button
        kind="quiet"
        onClick={() => {
          box.clear();
          apply('');
        }}
        disabledBecause={value === '' && text === '' ? 'No filter to clear.' : ''}
      >
        Clear
      </Button>
      {children}
    </search>
  );
}

const NOTHING_KNOWN: Known = { now: 0, labelKeys: [], values: () => [] };

/** The text of the box, and the suggestions at its caret. */
function useSuggestions(
  value: string,
  known: () => Known,
  input: { readonly current: HTMLInputElement | null },
) {
  const [text, setText] = useState(value);
  const [caret, setCaret] = useState(value.length);
  const [isOpen, setIsOpen] = useState(false);
  const [marked, setMarked] = useState(-1);
  useEffect(() => {
    setText(value);
    setCaret(value.length);
  }, [value]);
  const loaded = isOpen ? known() : NOTHING_KNOWN;
  const field = valueField(text, caret, loaded);
  const existing = useExistingValues(isOpen ? field : '');
  const values = (of: string) => (of === field && existing ? existing : loaded.values(of));
  const { from, options } = isOpen ? suggest(text, caret, { ...loaded, values }) : { from: 0, options: [] };
  const isExpanded = isOpen && options.length > 0;
  // Set before the next key: a later moment would move the caret of someone who types on.
  const wantedCaret = useRef<number | null>(null);
  useLayoutEffect(() => {
    const at = wantedCaret.current;
    wantedCaret.current = null;
    if (at !== null) input.current?.setSelectionRange(at, at);
  });
  const type = (next: string, at: number) => {
    wantedCaret.current = null;
    setText(next);
    setCaret(at);
    setMarked(-1);
    setIsOpen(true);
  };
  return {
    text,
    options,
    isExpanded,
    marked,
    type,
    accept({ insert }: Suggestion) {
      const at = from + insert.length;
      type(`${text.slice(0, from)}${insert}${text.slice(caret)}`, at);
      wantedCaret.current = at;
      input.current?.focus();
    },
    move(step: number) {
      if (!isExpanded) setIsOpen(true);
      else setMarked((marked + step + options.length + (marked < 0 && step < 0 ? 1 : 0)) % options.length);
    },
    /** Closes the suggestions for what is being typed; else restores the applied filter and leaves the box. */
    revert() {
      setMarked(-1);
      setIsOpen(false);
      if (isExpanded && text !== value) return;
      setText(value);
      input.current?.blur();
    },
    clear: () => setText(''),
    open: () => setIsOpen(true),
    close: () => setIsOpen(false),
    followCaret: () => setCaret(input.current?.selectionStart ?? text.length),
  };
}

function Options({
  id,
  options,
  marked,
  onChoose,
}: {
  id: string;
  options: readonly Suggestion[];
  marked: number;
  onChoose: (option: Suggestion) => void;
}) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (marked >= 0) list.current?.children[marked]?.scrollIntoView({ block: 'nearest' });
  }, [marked]);
  return (
    <div
      ref={list}
      id={id}
      className="suggestions"
      role="listbox"
      aria-label="Suggestions"
      hidden={options.length === 0}
    >
      {options.map((option, index) => (
        <div
          key={option.text}
          id={`${id}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === marked}
          // The input keeps the focus.
          onMouseDown={(event) => {
            event.preventDefault();
            onChoose(option);
          }}
        >
          <span className="mono">{option.text}</span>
          <span className="soft">{option.hint}</span>
        </div>
      ))}
    </div>
  );
}
