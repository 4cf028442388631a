/** The shortest form of an entity: without defaults and derived members. */
import { isDeepStrictEqual } from "node:util";
import { withoutUnset } from "@sluice/plugin-sdk";
import { checkEntity } from "../check/index.ts";
import type { Collection, Entity } from "../entities/index.ts";
import { entitySchemaOf } from "../plugins/index.ts";
import { withoutDefaults } from "../schema/without-defaults.ts";

type Members = Readonly<Record<string, unknown>>;

const first = ["id", "name", "username", "target", "key"];
const last = ["created_at", "updated_at"];

/**
 * Members from which `checkEntity` restores this entity. Defaults, timestamps of 0, and an id derived from the name or
 * content are omitted if `checkEntity` restores them. References stay `{ id }`.
 */
export function minimalEntity(collection: Collection, entity: Entity): Members {
  const { id, ...others } = entity as unknown as Members & { readonly id: string };
  const given = Object.entries(others).filter(([name, value]) => !(last.includes(name) && value === 0));
  const brief = inOrder(withoutDefaults(entitySchemaOf(collection, others), Object.fromEntries(given)));
  // The entity was already validated for the store that it is in, which may be a database.
  const anywhere = { database: true };
  const made: unknown = checkEntity(collection, brief, anywhere).value;
  if (isDeepStrictEqual(made, entity)) return brief;
  const withId = inOrder({ id, ...brief });
  if (isDeepStrictEqual(checkEntity(collection, withId, anywhere).value, entity)) return withId;
  // The default of some member depends on another member, so all set members are needed.
  return inOrder(withoutUnset({ id, ...others }));
}

/** Sorts members: first the identifying members, then the others in schema order, then timestamps. */
function inOrder(members: Members): Members {
  const rank = (name: string) => (first.indexOf(name) + 1 || first.length + 1) + (last.includes(name) ? 1 : 0);
  return Object.fromEntries(Object.entries(members).sort(([a], [b]) => rank(a) - rank(b)));
}
