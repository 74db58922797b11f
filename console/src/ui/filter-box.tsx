import { type FormEvent, useEffect, useRef, useState } from 'react';
import { useKey } from '../keyboard/shortcuts.tsx';
import { Button } from './button.tsx';

export interface FilterBoxProps {
  readonly label: string;
  readonly value: string;
  readonly onApply: (filter: string) => void;
  readonly placeholder: string;
  /** Why the server rejected it; empty when it is valid. */
  readonly fault?: string;
}

/** A filter in the server's grammar, applied with Enter. */
export function FilterBox({ label, value, onApply, placeholder, fault = '' }: FilterBoxProps) {
  const [text, setText] = useState(value);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => setText(value), [value]);
  useKey('/', 'Search', () => input.current?.focus());
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onApply(text.trim());
  };
  return (
    <form className="filter-box" onSubmit={submit}>
      <input
        ref={input}
        className="input mono"
        aria-label={label}
        aria-invalid={fault !== '' || undefined}
        placeholder={placeholder}
        spellCheck={false}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Escape') return;
          setText(value);
          input.current?.blur();
        }}
      />
      <Button type="submit">Apply</Button>
      {value !== '' && (
        <Button kind="quiet" onClick={() => onApply('')}>
          Clear
        </Button>
      )}
      {fault !== '' && (
        <p className="fault" role="alert">
          {fault}
        </p>
      )}
    </form>
  );
}
