/** Values as Kong writes them into its messages, which people and tests look for: `{name="foo",route=null}`. */
export function luaTable(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `{${value.map(luaTable).join(",")}}`;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${name}=${luaTable(member)}`).join(",")}}`;
}
