/** The inputs above a list. Only screen readers need their labels, because the placeholder or the choice is visible. */

interface FilterTextProps {
  readonly label: string;
  /** Default: the label. */
  readonly placeholder?: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly disabled?: boolean;
  /** For a number: narrow, with the keyboard for digits. */
  readonly isNumeric?: boolean;
}

export const FilterText = ({ label, placeholder = label, isNumeric = false, onChange, ...input }: FilterTextProps) => (
  <label class={isNumeric ? "narrow" : "grow"}>
    <span class="sr-only">{label}</span>
    <input
      {...input}
      type="search"
      inputMode={isNumeric ? "numeric" : undefined}
      placeholder={placeholder}
      onInput={({ currentTarget }) => onChange(currentTarget.value)}
    />
  </label>
);

interface FilterSelectProps<Choice extends string> {
  readonly label: string;
  readonly value: Choice;
  readonly choices: readonly (readonly [value: Choice, title: string])[];
  readonly onChange: (value: Choice) => void;
  readonly disabled?: boolean;
}

export const FilterSelect = <Choice extends string>({
  label,
  choices,
  onChange,
  ...select
}: FilterSelectProps<Choice>) => (
  <label>
    <span class="sr-only">{label}</span>
    <select {...select} onChange={({ currentTarget }) => onChange(currentTarget.value as Choice)}>
      {choices.map(([value, title]) => (
        <option key={value} value={value}>
          {title}
        </option>
      ))}
    </select>
  </label>
);
