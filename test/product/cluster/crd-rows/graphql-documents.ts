import { type CrdRow, commonSpecRows, lengthRows } from "./row.ts";

const valid = { manifest: '{"users":"{ users }"}' };

export const graphqlDocumentsRows: readonly CrdRow[] = [
  ...commonSpecRows(valid),
  ["a manifest", valid, null],
  ["a manifest that only the operator refuses", { manifest: "{" }, null],
  ["a manifest with line ends", { manifest: '{\n  "users": "{ users }"\n}\n' }, null],
  ["no manifest", {}, /spec\.manifest: Required value/],
  ["a manifest that is no text", { manifest: ["{ users }"] }, /spec\.manifest.*must be of type string/],
  ...lengthRows("manifest", { from: 1, to: 1_000_000 }, (manifest) => ({ manifest })),
  ["a manifest of quotation marks that JSON escapes", { manifest: '"'.repeat(700_000) }, null],
];
