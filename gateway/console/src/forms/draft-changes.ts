/** What a form sends: only the members that the user changed. */
import { isSame, type NamedField, namedFields } from "./schema-fields.ts";

export type FormDraft = Readonly<Record<string, unknown>>;

/**
 * The members that differ, for a PATCH or a POST. Records are sent in part, because the admin API merges them; lists
 * and maps are sent as a whole.
 */
export function changedMembers(fields: readonly NamedField[], before: FormDraft, after: FormDraft): FormDraft {
  return Object.fromEntries(
    fields.flatMap(({ name, field }): [string, unknown][] => {
      const [old, fresh] = [before[name] ?? null, after[name] ?? null];
      if (isSame(old, fresh)) return [];
      if (field.type === "record" && isDraft(old) && isDraft(fresh))
        return [[name, changedMembers(namedFields(field.fields), old, fresh)]];
      return [[name, fresh]];
    }),
  );
}

const isDraft = (value: unknown): value is FormDraft =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The messages about a value in an error of the admin API. The error is nested like the value. */
export function errorTexts(error: unknown): readonly string[] {
  if (error === undefined || error === null) return [];
  if (typeof error !== "object") return [String(error)];
  return Object.entries(error).flatMap(([key, inner]) => {
    // The keys of list items are positions: counted from 0 in an array, and from 1 in an object.
    const place = /^\d+$/.test(key) ? `item ${Array.isArray(error) ? Number(key) + 1 : key}: ` : `${key}: `;
    return errorTexts(inner).map((text) =>
      Array.isArray(error) && key === "0" && error.length === 1 ? text : `${place}${text}`,
    );
  });
}

/** Messages that belong to no field of the form. */
export function otherErrors(errors: FormDraft, fields: readonly NamedField[]): readonly string[] {
  const known = new Set(fields.map(({ name }) => name));
  return Object.entries(errors).flatMap(([name, error]) => {
    if (known.has(name)) return [];
    return name === "@entity" && Array.isArray(error) ? error.map(String) : errorTexts({ [name]: error });
  });
}
