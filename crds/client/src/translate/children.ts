/**
 * Lists in a spec whose entries stand for entities of their own (keys, targets, server names): a faulty entry leaves
 * its parent and the others alone.
 */
import { readSpec, type SpecNode } from "@sluice/model";
import { invalid, type Reading } from "./reading.ts";
import { CHILD_TIMES, childTimes } from "./times.ts";
import type { Path, ResourceViolation, Translated } from "./translation.ts";

export interface Child {
  /** Members of the entity in snake_case, and the entry's own, as `readSpec` gives them. */
  readonly members: Readonly<Record<string, unknown>>;
  readonly own: Readonly<Record<string, unknown>>;
  readonly base: Path;
  readonly index: number;
  readonly violations: readonly ResourceViolation[];
}

/** The entries of `spec.<member>`; none when it is no list, which the parent's violations tell. */
export function childrenOf({ resource }: Reading, member: string, node: SpecNode | undefined): readonly Child[] {
  const given = resource.spec?.[member];
  return (Array.isArray(given) ? given : []).map((entry: unknown, index) => {
    const base = ["spec", member, index];
    const { members, own, violations } = readSpec(node?.items ?? {}, entry);
    return {
      members,
      own,
      base,
      index,
      violations: violations.map(({ path, message }) => invalid([...base, ...path], message)),
    };
  });
}

/** The violations of the parent: those inside the list's entries are theirs. */
export const parentViolations = ({ violations }: Reading, member: string): Translated["violations"] =>
  violations.filter(({ path }) => !(path.length > 2 && path[1] === member));

/** A child's times: from the annotation of who wrote them down, else its parent's. */
export function timesOf({ resource, times }: Reading, id: string): Reading["times"] {
  const [created_at, updated_at] = childTimes(resource.metadata.annotations?.[CHILD_TIMES])[id] ?? [];
  return { created_at: created_at ?? times.created_at, updated_at: updated_at ?? times.updated_at };
}
