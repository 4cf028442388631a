/** A table row has a spec that the API server accepts or refuses. The functions return several rows for one member. */

/** A description, the spec, and the message with which the API server refuses the spec; null: it accepts the spec. */
export type CrdRow = readonly [what: string, spec: object, refusal: RegExp | null];

export const uuid = "2b7a4f0e-64d5-4d5e-8d0a-6f9f6d2f8a11";
export const validSecretRef = { name: "demo-key", key: "key" };

interface Limits {
  readonly from?: number;
  readonly to: number;
}

/** Rows with a number at its lower and its upper bound, below the lower bound, and above the upper bound. */
export function numbers(
  what: string,
  { from, to }: Required<Limits>,
  spec: (value: number) => object,
): readonly CrdRow[] {
  return [
    [`${what} ${from}`, spec(from), null],
    [`${what} ${to}`, spec(to), null],
    [`${what} ${from - 1}`, spec(from - 1), new RegExp(`greater than or equal to ${from}`)],
    [`${what} ${to + 1}`, spec(to + 1), new RegExp(`less than or equal to ${to}`)],
  ];
}

/** A string of the maximum length, a longer one, and an empty one if there is a minimum length. */
export function lengthRows(what: string, { from = 0, to }: Limits, spec: (text: string) => object): readonly CrdRow[] {
  return [
    [`${to} characters for the ${what}`, spec("a".repeat(to)), null],
    [
      `${to + 1} characters for the ${what}`,
      spec("a".repeat(to + 1)),
      new RegExp(`Too long: may not be more than ${to}`),
    ],
    ...(from > 0 ? [[`an empty ${what}`, spec(""), new RegExp(`at least ${from} chars long`)] satisfies CrdRow] : []),
  ];
}

/** A list of the maximum length, a longer one, and an empty one if there is a minimum length. */
export function listLengthRows(
  what: string,
  { from = 0, to }: Limits,
  spec: (count: number) => object,
): readonly CrdRow[] {
  return [
    [`${to} ${what}`, spec(to), null],
    [`${to + 1} ${what}`, spec(to + 1), new RegExp(`Too many: ${to + 1}: must have at most ${to} items`)],
    ...(from > 0 ? [[`no ${what}`, spec(0), new RegExp(`should have at least ${from} items`)] satisfies CrdRow] : []),
  ];
}

/** Each of the known values, and an unknown one. */
export function knownValueRows(
  what: string,
  known: readonly (string | number)[],
  spec: (word: string | number) => object,
): readonly CrdRow[] {
  const other = typeof known[0] === "number" ? 999 : "nothing";
  return [
    ...known.map((word): CrdRow => [`${what} ${word}`, spec(word), null]),
    [`an unknown ${what}`, spec(other), /Unsupported value/],
  ];
}

/** `count` different strings. */
export const texts = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `t${index}`);

/** Rows for a reference to another resource, which test the rules that all references share. */
export function referenceRows(what: string, spec: (ref: object) => object): readonly CrdRow[] {
  return [
    [`${what} whose name has 253 characters`, spec({ name: "a".repeat(253) }), null],
    [`${what} whose name has 254 characters`, spec({ name: "a".repeat(254) }), /Too long/],
    [`${what} whose name has dots`, spec({ name: "a.b-1.c" }), null],
    [`${what} whose name has capitals`, spec({ name: "Users" }), /should match/],
    [`${what} whose name ends in a hyphen`, spec({ name: "users-" }), /should match/],
    [`${what} without a name`, spec({}), /name: Required value/],
    [`${what} in another namespace`, spec({ name: "a", namespace: "team-1" }), null],
    [`${what} in a namespace with dots`, spec({ name: "a", namespace: "a.b" }), /namespace.*should match/],
    [`${what} with an unknown member`, spec({ name: "a", other: "b" }), /unknown field/],
  ];
}

/** Rows for the members that all kinds share, each added to this valid spec of one kind. */
export const commonSpecRows = (spec: object): readonly CrdRow[] => [
  ["a name, an id, tags and a class", { ...spec, name: "a.b", id: uuid, tags: ["a", "b c"], class: "other" }, null],
  ...lengthRows("name", { to: 256 }, (name) => ({ ...spec, name })),
  ["an id in capitals", { ...spec, id: uuid.toUpperCase() }, null],
  ["an id that is not a UUID", { ...spec, id: "users" }, /spec\.id/],
  ...listLengthRows("tags", { to: 64 }, (count) => ({ ...spec, tags: texts(count) })),
  ...lengthRows("tag", { from: 1, to: 128 }, (tag) => ({ ...spec, tags: [tag] })),
  ["a string instead of a list of tags", { ...spec, tags: "a" }, /spec\.tags.*must be of type array/],
  ...lengthRows("class", { from: 1, to: 63 }, (name) => ({ ...spec, class: name })),
  ["a class with capitals", { ...spec, class: "Sluice" }, /spec\.class/],
  ["a class that ends in a hyphen", { ...spec, class: "sluice-" }, /spec\.class/],
  ["an unknown field", { ...spec, frobnicate: 1 }, /unknown field "spec\.frobnicate"/],
];
