export interface SelectFieldProps {
  readonly title: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly options: readonly string[];
  /** The text of the empty option. */
  readonly none: string;
  /** Why the options are missing; empty when they are not. */
  readonly fault: string;
}

export function SelectField({ title, value, onChange, options, none, fault }: SelectFieldProps) {
  // A value that is set stays selectable while the options load, or when it is not among them.
  const shown = value === '' || options.includes(value) ? options : [value, ...options];
  return (
    <div>
      <label className="field">
        <span>{title}</span>
        <select className="input" value={value} onChange={(event) => onChange(event.target.value)}>
          <option value="">{none}</option>
          {shown.map((option) => (
            <option key={option}>{option}</option>
          ))}
        </select>
      </label>
      {fault !== '' && <p className="hint fault">{fault}</p>}
    </div>
  );
}
