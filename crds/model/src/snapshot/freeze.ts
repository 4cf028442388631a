/** Freezes plain data at all depths, in place. Values that are passed between stages are frozen. */
export function freezeDeep<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  for (const member of Object.values(value)) freezeDeep(member);
  return Object.freeze(value);
}
