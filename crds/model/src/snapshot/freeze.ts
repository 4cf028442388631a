/** Values that cross a stage are frozen, maps too. */

/** Freezes plain data all the way down, in place. */
export function freezeDeep<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  for (const member of Object.values(value)) freezeDeep(member);
  return Object.freeze(value);
}

function refuse(): never {
  throw new TypeError("a snapshot's map cannot be changed");
}

/** `Object.freeze` leaves a Map's content open; this closes its methods as well. */
export function freezeMap<Key, Value>(map: Map<Key, Value>): ReadonlyMap<Key, Value> {
  const closed = { value: refuse };
  return Object.freeze(Object.defineProperties(map, { set: closed, delete: closed, clear: closed }));
}
