/** Prints JSON like this project's formatter: one member per line, lists of scalars on one line. */
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
