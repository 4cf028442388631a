/** The inputs of members that have no members of their own, and the parts that all inputs share. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { errorTexts } from "./draft-changes.ts";
import { ReferenceInput } from "./reference-input.tsx";
import type { SchemaField } from "./schema-fields.ts";

export interface ValueProps {
  readonly label: string;
  /** Unique in the page. */
  readonly id: string;
  readonly field: SchemaField;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  /** The error of the admin API about this value. */
  readonly error: unknown;
  /** Whether the value is stored. A stored secret is not shown. */
  readonly isStored: boolean;
  readonly disabled: boolean;
}

export const RequiredMark = () => <span class="required"> required</span>;

export const describedBy = ({ id, field, error }: ValueProps): string | undefined => {
  const ids = [...(errorTexts(error).length > 0 ? [`${id}-error`] : []), ...(hintOf(field) ? [`${id}-hint`] : [])];
  return ids.length === 0 ? undefined : ids.join(" ");
};

function hintOf({ description, between, auto }: SchemaField): string {
  const parts = [description, between && `From ${between[0]} to ${between[1]}.`, auto && "Generated if it is empty."];
  return parts.filter((part) => typeof part === "string").join(" ");
}

/** The errors and the description of a field. */
export function FieldNotes(props: ValueProps) {
  const { id, field, error } = props;
  const texts = errorTexts(error);
  const hint = hintOf(field);
  return (
    <>
      {texts.length > 0 && (
        <p class="field-error" id={`${id}-error`}>
          {texts.join("; ")}
        </p>
      )}
      {hint !== "" && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </>
  );
}

/** Texts longer than this get an input of several lines: certificates, bodies. */
const LONG_TEXT = 8193;

export function ScalarInput(props: ValueProps) {
  const { id, field, value, onChange, disabled, error, isStored } = props;
  const [isReplaced, setReplaced] = useState(false);
  const common = {
    id,
    disabled,
    "aria-invalid": errorTexts(error).length > 0,
    "aria-describedby": describedBy(props),
    required: field.required === true && field.default === undefined,
  };
  if (field.type === "foreign")
    return <ReferenceInput {...common} collection={field.reference ?? ""} value={value} onChange={onChange} />;
  if (field.type === "boolean" || field.one_of) {
    const choices = field.one_of ?? [true, false];
    return (
      <select
        {...common}
        value={value === null || value === undefined ? "" : String(value)}
        onChange={({ currentTarget }) =>
          onChange(choices.find((choice) => String(choice) === currentTarget.value) ?? null)
        }
      >
        {(!field.required || value === null) && <option value="">not set</option>}
        {choices.map((choice) => (
          <option key={String(choice)} value={String(choice)}>
            {String(choice)}
          </option>
        ))}
      </select>
    );
  }
  if (field.encrypted && isStored && !isReplaced && value !== null && value !== undefined) {
    return (
      <div class="secret">
        <input {...common} type="text" value="(set, not shown)" disabled />
        {!disabled && (
          <button
            type="button"
            onClick={() => {
              setReplaced(true);
              onChange(null);
            }}
          >
            Replace
          </button>
        )}
      </div>
    );
  }
  const text = value === null || value === undefined ? "" : String(value);
  const set = (typed: string) => onChange(typed === "" ? null : isNumber(field) ? readNumber(typed) : typed);
  if ((field.len_max ?? 0) >= LONG_TEXT && !isNumber(field)) {
    return (
      <textarea
        {...common}
        rows={5}
        spellcheck={false}
        value={text}
        onInput={({ currentTarget }) => set(currentTarget.value)}
      />
    );
  }
  const typing = { spellcheck: false, value: text, onInput: (event: Typed) => set(event.currentTarget.value) };
  if (field.encrypted) return <input {...common} {...typing} type="password" autoComplete="new-password" />;
  return (
    <input {...common} {...typing} type="text" autoComplete="off" inputMode={isNumber(field) ? "decimal" : undefined} />
  );
}

interface Typed {
  readonly currentTarget: HTMLInputElement;
}

const isNumber = ({ type }: SchemaField): boolean => type === "integer" || type === "number";

/** A text that is no number stays a text: the admin API says what is wrong with it. */
function readNumber(text: string): unknown {
  const number = Number(text);
  return text.trim() === "" || Number.isNaN(number) || text.endsWith(".") ? text : number;
}

/** One text or number per line. */
export function LinesInput({ elements, ...props }: ValueProps & { readonly elements: SchemaField }) {
  const { id, label, field, value, onChange, disabled, error, isStored } = props;
  const list = Array.isArray(value) ? value : [];
  const [text, setText] = useState(list.join("\n"));
  const [isReplaced, setReplaced] = useState(false);
  const isHidden = elements.encrypted === true && isStored && list.length > 0 && !isReplaced;
  function set(typed: string): void {
    setText(typed);
    const lines = typed
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "");
    const items = lines.map((line) => (isNumber(elements) ? readNumber(line) : line));
    onChange(items.length === 0 && field.default === undefined && !field.required ? null : items);
  }
  return (
    <div class="field">
      <label for={id}>
        {label}
        {field.required && field.default === undefined && <RequiredMark />}
        <span class="hint"> one per line</span>
      </label>
      {isHidden ? (
        <div class="secret">
          <input id={id} type="text" value="(set, not shown)" disabled />
          <button
            type="button"
            onClick={() => {
              setReplaced(true);
              set("");
            }}
          >
            Replace
          </button>
        </div>
      ) : (
        <textarea
          id={id}
          rows={Math.min(6, Math.max(2, text.split("\n").length))}
          value={text}
          disabled={disabled}
          spellcheck={false}
          aria-invalid={errorTexts(error).length > 0}
          aria-describedby={describedBy(props)}
          onInput={({ currentTarget }) => set(currentTarget.value)}
        />
      )}
      <FieldNotes {...props} />
    </div>
  );
}

/** A set of words from a list. */
export function ChoicesInput({ choices, ...props }: ValueProps & { readonly choices: readonly (string | number)[] }) {
  const { id, label, value, onChange, disabled } = props;
  const chosen = Array.isArray(value) ? value : [];
  return (
    <FieldGroup {...props}>
      <legend>{label}</legend>
      <div class="choices">
        {choices.map((choice) => (
          <label key={choice} for={`${id}-${choice}`}>
            <input
              id={`${id}-${choice}`}
              type="checkbox"
              disabled={disabled}
              checked={chosen.includes(choice)}
              onChange={({ currentTarget }) =>
                onChange(
                  currentTarget.checked
                    ? choices.filter((one) => one === choice || chosen.includes(one))
                    : chosen.filter((one) => one !== choice),
                )
              }
            />
            {choice}
          </label>
        ))}
      </div>
    </FieldGroup>
  );
}

export const FieldGroup = ({ children, ...props }: ValueProps & { readonly children: ComponentChildren }) => (
  <fieldset class="group" aria-describedby={describedBy(props)}>
    {children}
    <FieldNotes
      {...props}
      error={typeof props.error === "object" && props.field.type === "record" ? undefined : props.error}
    />
  </fieldset>
);
