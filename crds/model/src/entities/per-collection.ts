/** A value for each collection. */
import { type Collection, collections } from "./index.ts";

export type PerCollection<Value> = Readonly<Record<Collection, Value>>;

/** Evaluated in the order of the collections: parents before children. */
export const perCollection = <Value>(make: (collection: Collection) => Value): PerCollection<Value> =>
  Object.fromEntries(collections.map((collection) => [collection, make(collection)])) as Record<Collection, Value>;
