/** The server's filter grammar in one line, with what could be typed next. Enter applies; Escape takes back. */
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { useKey } from '../../keyboard/shortcuts.tsx';
import { Button } from '../../ui/button.tsx';
import type { FilterFault } from './filter-text.ts';
import { type Known, type Suggestion, suggest } from './suggest.ts';

export interface SearchBoxProps {
  readonly value: string;
  readonly onApply: (filter: string) => void;
  readonly fault: FilterFault | null;
  readonly known: () => Known;
  /** Stands at the end of the line. */
  readonly children?: ReactNode;
}

export function SearchBox({ value, onApply, fault, known, children }: SearchBoxProps) {
  const [text, setText] = useState(value);
  const [caret, setCaret] = useState(value.length);
  const [isOpen, setIsOpen] = useState(false);
  const [marked, setMarked] = useState(-1);
  const input = useRef<HTMLInputElement>(null);
  const listId = useId();
  useEffect(() => {
    setText(value);
    setCaret(value.length);
  }, [value]);
  useKey('/', 'Search', () => input.current?.focus());
  useEffect(() => {
    // Where the fault is, so that it can be mended at once.
    if (fault && document.activeElement === input.current)
      input.current?.setSelectionRange(fault.offset, fault.offset + 1);
  }, [fault]);

  const { from, options } = isOpen ? suggest(text, caret, known()) : { from: 0, options: [] };
  const isExpanded = isOpen && options.length > 0;
  const change = (next: string, at: number) => {
    setText(next);
    setCaret(at);
    setMarked(-1);
    setIsOpen(true);
  };
  const accept = ({ insert }: Suggestion) => {
    const at = from + insert.length;
    change(`${text.slice(0, from)}${insert}${text.slice(caret)}`, at);
    input.current?.focus();
    requestAnimationFrame(() => input.current?.setSelectionRange(at, at));
  };
  const apply = (filter: string) => {
    setIsOpen(false);
    onApply(filter);
  };
  const close = () => {
    if (isExpanded) setIsOpen(false);
    else setText(value);
    setMarked(-1);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const chosen = isExpanded ? options[marked] : undefined;
    if (step !== undefined) {
      event.preventDefault();
      if (!isExpanded) setIsOpen(true);
      else setMarked((marked + step + options.length + (marked < 0 && step < 0 ? 1 : 0)) % options.length);
    } else if ((event.key === 'Enter' || event.key === 'Tab') && chosen) {
      event.preventDefault();
      accept(chosen);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      apply(text);
    } else if (event.key === 'Escape') {
      event.preventDefault();
      close();
    }
  };
  const follow = () => setCaret(input.current?.selectionStart ?? text.length);
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
          placeholder="phase=READY AND location.rack=r42, or a part of an id"
          value={text}
          onChange={(event) =>
            change(event.target.value, event.target.selectionStart ?? event.target.value.length)
          }
          onSelect={follow}
          onFocus={() => setIsOpen(true)}
          onBlur={() => setIsOpen(false)}
          onKeyDown={onKeyDown}
        />
        <Options id={listId} options={isExpanded ? options : []} marked={marked} onChoose={accept} />
      </div>
      <Button onClick={() => apply(text)}>Apply</Button>
      <Button
        kind="quiet"
        onClick={() => {
          setText('');
          apply('');
        }}
        disabledBecause={value === '' && text === '' ? 'There is no filter.' : ''}
      >
        Clear
      </Button>
      {children}
    </search>
  );
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
          // The box keeps the focus.
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
