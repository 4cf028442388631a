/** Where request-validator differs from JSON Schema (docs/reference/kong-compatibility.md#request-validator). */

/** Schemas that the plugin refuses, by a pattern for its message. */
export const refusedSchemas: readonly { readonly message: RegExp; readonly reason: string }[] = [
  { message: /does not lead to a schema of the same document/, reason: "a reference must stay in the schema" },
  { message: /\$dynamicRef.* is not supported/, reason: "$dynamicRef is refused" },
];

/** Tests of the JSON Schema Test Suite that the plugin fails: the reason, by draft, file, group and test. */
export const knownDifferences: Readonly<Record<string, string>> = {
  "draft202012 ref: order of evaluation: $id and $anchor and $ref: data is valid against first definition":
    "of two equal anchors in schemas with different ids, the reference leads to the wrong one",
};
