/** The input of one member, by its type in the schema. */
import { useState } from "preact/hooks";
import { initialValue, isProminent, type NamedField, namedFields, type SchemaField } from "./schema-fields.ts";
import {
  ChoicesInput,
  describedBy,
  FieldGroup,
  FieldNotes,
  LinesInput,
  RequiredMark,
  ScalarInput,
  type ValueProps,
} from "./simple-inputs.tsx";

export function ValueField(props: ValueProps) {
  const { field, value } = props;
  const { type, elements } = field;
  if (type === "record") return <RecordInput {...props} />;
  if (type === "map") return <MapInput {...props} />;
  if ((type === "array" || type === "set") && elements) {
    if (elements.one_of && type === "set") return <ChoicesInput {...props} choices={elements.one_of} />;
    if (["string", "integer", "number"].includes(elements.type)) return <LinesInput {...props} elements={elements} />;
    return <ListInput {...props} elements={elements} />;
  }
  if (type === "boolean" && field.required) {
    return (
      <div class="field check">
        <label for={props.id}>
          <input
            id={props.id}
            type="checkbox"
            checked={value === true}
            disabled={props.disabled}
            aria-describedby={describedBy(props)}
            onChange={({ currentTarget }) => props.onChange(currentTarget.checked)}
          />
          {props.label}
        </label>
        <FieldNotes {...props} />
      </div>
    );
  }
  return (
    <div class="field">
      <label for={props.id}>
        {props.label}
        {field.required && field.default === undefined && <RequiredMark />}
      </label>
      <ScalarInput {...props} />
      <FieldNotes {...props} />
    </div>
  );
}

function RecordInput(props: ValueProps) {
  const { label, field, value, onChange, disabled } = props;
  const isSet = value !== null && value !== undefined;
  return (
    <FieldGroup {...props}>
      <legend>{label}</legend>
      {!field.required && (
        <label class="check">
          <input
            type="checkbox"
            checked={isSet}
            disabled={disabled}
            onChange={({ currentTarget }) =>
              onChange(currentTarget.checked ? initialValue({ ...field, required: true }) : null)
            }
          />
          set
        </label>
      )}
      {isSet && (
        <MemberFields {...props} members={Object(value)} fields={namedFields(field.fields)} onMembers={onChange} />
      )}
    </FieldGroup>
  );
}

/** Up to this number of members, a record shows all of them at once. */
const MAX_SHOWN = 10;

interface MemberFieldsProps extends Pick<ValueProps, "id" | "error" | "isStored" | "disabled"> {
  readonly fields: readonly NamedField[];
  readonly members: Readonly<Record<string, unknown>>;
  readonly onMembers: (members: Readonly<Record<string, unknown>>) => void;
  /** Names of fields that are always shown at once. */
  readonly main?: readonly string[];
}

/** The inputs of a record's members, or of a whole entity. */
export function MemberFields(props: MemberFieldsProps) {
  const { id, fields, members, onMembers, error, isStored, disabled, main = [] } = props;
  // Decided once: an input that moves while the user types would lose the focus.
  const [prominent] = useState(() => prominentNames(fields, members, main));
  const errors: Readonly<Record<string, unknown>> = Object(error);
  const [first, rest] = [
    fields.filter(({ name }) => prominent.has(name)),
    fields.filter(({ name }) => !prominent.has(name)),
  ];
  const show = ({ name, field }: NamedField) => (
    <ValueField
      key={name}
      id={`${id}-${name}`}
      label={name}
      field={field}
      value={members[name]}
      onChange={(value) => onMembers({ ...members, [name]: value })}
      error={errors[name]}
      isStored={isStored}
      disabled={disabled}
    />
  );
  return (
    <>
      <div class="members">{first.map(show)}</div>
      {rest.length > 0 && (
        <details open={rest.some(({ name }) => errors[name] !== undefined)}>
          <summary>{rest.length} more fields</summary>
          <div class="members">{rest.map(show)}</div>
        </details>
      )}
    </>
  );
}

function prominentNames(
  fields: readonly NamedField[],
  members: Readonly<Record<string, unknown>>,
  main: readonly string[],
): ReadonlySet<string> {
  const all = new Set(fields.map(({ name }) => name));
  if (fields.length <= MAX_SHOWN) return all;
  const chosen = fields.filter((one) => main.includes(one.name) || isProminent(one, members[one.name]));
  return chosen.length === 0 ? all : new Set(chosen.map(({ name }) => name));
}

/** A list of records, or of other lists. */
function ListInput({ elements, ...props }: ValueProps & { readonly elements: SchemaField }) {
  const { id, label, value, onChange, error, disabled } = props;
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  const errors: Readonly<Record<string, unknown>> = Object(error);
  return (
    <FieldGroup {...props} error={undefined}>
      <legend>{label}</legend>
      {list.map((item, index) => (
        // Items have no identity besides their position.
        <div class="item" key={index}>
          <ValueField
            {...props}
            id={`${id}-${index}`}
            label={`${label} ${index + 1}`}
            field={{ ...elements, required: true }}
            value={item}
            error={errors[Array.isArray(error) ? index : index + 1]}
            onChange={(fresh) => onChange(list.with(index, fresh))}
          />
          <button type="button" disabled={disabled} onClick={() => onChange(list.toSpliced(index, 1))}>
            Remove
            <span class="sr-only">
              {" "}
              {label} {index + 1}
            </span>
          </button>
        </div>
      ))}
      <button
        type="button"
        disabled={disabled}
        onClick={() => onChange([...list, initialValue({ ...elements, required: true })])}
      >
        Add<span class="sr-only"> to {label}</span>
      </button>
    </FieldGroup>
  );
}

/** Arbitrary names with values of one type. */
function MapInput(props: ValueProps) {
  const { id, label, field, value, onChange, error, disabled } = props;
  const values = field.values ?? { type: "string" };
  const [rows, setRows] = useState<readonly (readonly [string, unknown])[]>(() => Object.entries(Object(value)));
  const errors: Readonly<Record<string, unknown>> = Object(error);
  function set(fresh: readonly (readonly [string, unknown])[]): void {
    setRows(fresh);
    const named = fresh.filter(([name]) => name !== "");
    onChange(named.length === 0 && !field.required ? null : Object.fromEntries(named));
  }
  return (
    <FieldGroup {...props} error={typeof error === "object" ? undefined : error}>
      <legend>{label}</legend>
      {rows.map(([name, item], index) => (
        // The key is not the name, because the name changes while it is typed.
        <div class="item pair" key={index}>
          <div class="field">
            <label for={`${id}-${index}-name`}>Name</label>
            <input
              id={`${id}-${index}-name`}
              type="text"
              value={name}
              disabled={disabled}
              onInput={({ currentTarget }) => set(rows.with(index, [currentTarget.value, item]))}
            />
          </div>
          <ValueField
            {...props}
            id={`${id}-${index}`}
            label="Value"
            field={values}
            value={item}
            error={errors[name]}
            onChange={(fresh) => set(rows.with(index, [name, fresh]))}
          />
          <button type="button" disabled={disabled} onClick={() => set(rows.toSpliced(index, 1))}>
            Remove<span class="sr-only"> {name}</span>
          </button>
        </div>
      ))}
      <button type="button" disabled={disabled} onClick={() => set([...rows, ["", initialValue(values)]])}>
        Add<span class="sr-only"> to {label}</span>
      </button>
    </FieldGroup>
  );
}
