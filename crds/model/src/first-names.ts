/** The first names of a list, and the number of the others: `a, b and 3 more`. */
export function listFirstNames(names: readonly string[], maximum: number): string {
  const rest = names.length - maximum;
  return `${names.slice(0, maximum).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}
