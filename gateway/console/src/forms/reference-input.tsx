/** Chooses an entity of another collection by its name. */
import { useEffect, useId, useState } from "preact/hooks";
import { entityTitle } from "../api/collections.ts";
import { type EntityRecord, loadEntities } from "../api/load-entities.ts";

interface ReferenceInputProps {
  readonly id: string;
  readonly collection: string;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly disabled: boolean;
  readonly required: boolean;
  readonly "aria-invalid": boolean;
  readonly "aria-describedby": string | undefined;
}

/** Maximum number of names that are suggested; the others can be typed. */
const MAX_SUGGESTED = 1000;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The member by which the admin API finds an entity if the reference has a name instead of an id. */
const nameMember = (collection: string): string => (collection === "consumers" ? "username" : "name");

export function ReferenceInput({ collection, value, onChange, ...input }: ReferenceInputProps) {
  const list = useId();
  const [choices, setChoices] = useState<readonly EntityRecord[]>([]);
  const [typed, setTyped] = useState<string>();
  useEffect(() => {
    const abort = new AbortController();
    loadEntities(collection, { signal: abort.signal, max: MAX_SUGGESTED }).then(
      ({ entities }) => setChoices(entities),
      // Without suggestions, a name or an id can still be typed.
      () => {},
    );
    return () => abort.abort();
  }, [collection]);

  const { id, name } = Object(value) as { readonly id?: string; readonly name?: string };
  const chosen = choices.find((choice) => choice.id === id);
  const shown = typed ?? (chosen ? entityTitle(collection, chosen) : (id ?? name ?? ""));

  function choose(text: string): void {
    setTyped(text);
    const wanted = text.trim();
    const found = choices.find((choice) => choice.id === wanted || entityTitle(collection, choice) === wanted);
    if (wanted === "") onChange(null);
    else if (found) onChange({ id: found.id });
    else onChange(UUID.test(wanted) ? { id: wanted.toLowerCase() } : { [nameMember(collection)]: wanted });
  }

  return (
    <>
      <input
        {...input}
        type="text"
        list={list}
        value={shown}
        placeholder="none"
        spellcheck={false}
        autoComplete="off"
        onInput={({ currentTarget }) => choose(currentTarget.value)}
      />
      <datalist id={list}>
        {choices.map((choice) => (
          <option key={choice.id} value={entityTitle(collection, choice)} />
        ))}
      </datalist>
    </>
  );
}
