/** JSON as the formatter of this project wants it: a member a line, lists of plain values on one. */
export function printJson(value: unknown): string {
  return `${print(value, "")}\n`;
}

function print(value: unknown, indent: string): string {
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    const items = value.map((item) => print(item, inner));
    const isPlain = value.every((item) => typeof item !== "object" || item === null);
    return isPlain ? `[${items.join(", ")}]` : `[\n${items.map((item) => inner + item).join(",\n")}\n${indent}]`;
  }
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, member]) => `${inner}${JSON.stringify(name)}: ${print(member, inner)}`,
  );
  return members.length === 0 ? "{}" : `{\n${members.join(",\n")}\n${indent}}`;
}
