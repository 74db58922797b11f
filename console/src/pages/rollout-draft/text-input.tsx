export interface TextInputProps {
  readonly title: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly placeholder?: string;
  /** What is wrong with it; empty: nothing is. */
  readonly fault?: string;
  readonly hint?: string;
  readonly type?: 'text' | 'datetime-local' | 'time';
  readonly list?: string;
}

export function TextInput({
  title,
  value,
  onChange,
  placeholder,
  fault = '',
  hint = '',
  ...rest
}: TextInputProps) {
  const note = fault || hint;
  return (
    <label className="field">
      <span>{title}</span>
      <input
        className="input"
        spellCheck={false}
        autoComplete="off"
        placeholder={placeholder}
        aria-invalid={fault !== '' || undefined}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        {...rest}
      />
      {note !== '' && <small className={fault === '' ? 'soft' : 'fault'}>{note}</small>}
    </label>
  );
}

export interface CheckInputProps {
  readonly title: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}

export function CheckInput({ title, checked, onChange }: CheckInputProps) {
  return (
    <label className="check">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.target.checked)} />
      {title}
    </label>
  );
}
