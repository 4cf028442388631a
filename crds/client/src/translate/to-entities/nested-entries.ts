/**
 * Lists in a spec whose entries are entities of their own (keys, targets, server names): an invalid entry does not
 * affect its parent and the other entries.
 */
import { readSpec, type SpecNode } from "@sluice/model";
import { CHILD_TIMES, childTimes } from "../timestamps.ts";
import type { Path, ResourceViolation, TranslatedEntity } from "../translation.ts";
import { invalidField, type TranslatorInput } from "./translator-input.ts";

export interface NestedEntry {
  /** Members of the entity in snake_case, and those that exist only in the resource, as returned by `readSpec`. */
  readonly members: Readonly<Record<string, unknown>>;
  readonly own: Readonly<Record<string, unknown>>;
  readonly base: Path;
  readonly index: number;
  readonly violations: readonly ResourceViolation[];
}

/** The entries of `spec.<member>`; empty when it is not a list, which the parent's violations report. */
export function nestedEntriesOf(
  { resource }: TranslatorInput,
  member: string,
  node: SpecNode | undefined,
): readonly NestedEntry[] {
  const given = resource.spec?.[member];
  return (Array.isArray(given) ? given : []).map((entry: unknown, index) => {
    const base = ["spec", member, index];
    const { members, own, violations } = readSpec(node?.items ?? {}, entry);
    return {
      members,
      own,
      base,
      index,
      violations: violations.map(({ path, message }) => invalidField([...base, ...path], message)),
    };
  });
}

/** The violations of the parent, without those inside the list's entries. */
export const parentViolations = ({ violations }: TranslatorInput, member: string): TranslatedEntity["violations"] =>
  violations.filter(({ path }) => !(path.length > 2 && path[1] === member));

/** A child's times: from the annotation, or else its parent's. */
export function nestedTimesOf({ resource, times }: TranslatorInput, id: string): TranslatorInput["times"] {
  const [created_at, updated_at] = childTimes(resource.metadata.annotations?.[CHILD_TIMES])[id] ?? [];
  return { created_at: created_at ?? times.created_at, updated_at: updated_at ?? times.updated_at };
}
