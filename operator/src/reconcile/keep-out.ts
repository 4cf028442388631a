/** What is left of an item that the model refuses: what may guard something stays as one that answers 503. */
import { type Collection, mayProtect } from "@sluice/model";
import { reasonFor } from "../translate/stand-in.ts";
import type { Item } from "../translate/translation.ts";

/** Undefined: it is left out. What answers 503 already gets no second chance. */
export function keepOut(collection: Collection, { owner, entity }: Item, message: string): Item | undefined {
  const extras = (entity._sluice ?? {}) as { readonly unavailable?: string };
  if (extras.unavailable !== undefined) return undefined;
  const closed = { ...extras, unavailable: reasonFor(owner, [message]) };
  if (collection === "routes") return { owner, entity: { ...entity, service: null, _sluice: closed } };
  if (collection === "plugins" && mayProtect(entity.name))
    return { owner, entity: { ...entity, config: {}, _sluice: closed } };
  return undefined;
}
