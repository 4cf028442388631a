import type { Checked, Violation } from "@sluice/plugin-sdk";
import type { Collection } from "../entities/index.ts";
import { type CheckedEntity, type CheckOptions, checkEntity } from "./index.ts";

type Path = Violation["path"];

/** Stands in for a value that is in a Secret; long enough for plugins that demand a minimum length of a key. */
const UNSEEN = "a value that is in a Secret, unseen here";

/**
 * Like `checkEntity`, for an entity whose values are partly in Secrets that the caller does not see.
 *
 * @param hidden Paths of members that are set in Secrets, although the given entity may lack them. If the entity is
 * invalid only because it lacks such members, they count as set, and they are null in the result.
 */
export function checkWithHidden<Name extends Collection>(
  collection: Name,
  raw: object,
  { hidden, ...options }: CheckOptions & { readonly hidden: readonly Path[] },
): Checked<CheckedEntity<Name>> {
  const checked = checkEntity(collection, raw, options);
  const unset = hidden.filter((path) => isUnset(raw, path));
  if (checked.value !== undefined || unset.length === 0) return checked;
  const withAll = (entity: object, member: unknown) =>
    unset.reduce((changed: object, path) => withMember(changed, path, member), entity);
  const shown = checkEntity(collection, withAll(raw, UNSEEN), options);
  return shown.violations ? shown : { value: withAll(shown.value, null) as typeof shown.value };
}

function isUnset(value: unknown, [step, ...rest]: Path): boolean {
  if (step === undefined) return (value ?? null) === null;
  const members = Object(value) as Readonly<Record<string, unknown>>;
  return !Object.hasOwn(members, step) || isUnset(members[step], rest);
}

function withMember(value: unknown, [step = "", ...rest]: Path, member: unknown): object {
  const members = Object(value) as Readonly<Record<string, unknown>>;
  return { ...members, [step]: rest.length === 0 ? member : withMember(members[step], rest, member) };
}
