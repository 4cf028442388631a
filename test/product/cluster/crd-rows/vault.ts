import { type CrdRow, commonSpecRows, lengthRows, texts } from "./row.ts";

const valid = { prefix: "my-env", backend: "env" };
const badPrefix = /must begin with a lower-case letter/;

export const vaultRows: readonly CrdRow[] = [
  ...commonSpecRows(valid),
  ["a prefix and a backend", valid, null],
  ["all members", { ...valid, description: "of the team", config: { prefix: "APP_" } }, null],
  ["an empty config", { ...valid, config: {} }, null],
  ["no prefix", { backend: "env" }, /spec\.prefix: Required value/],
  ["no backend", { prefix: "my-env" }, /spec\.backend: Required value/],
  ...["hcv", "aws", "ENV"].map(
    (backend): CrdRow => [
      `the backend ${backend}`,
      { ...valid, backend },
      /only env is supported: put the secret into/,
    ],
  ),
  ...["a1", "hcv", "a--b"].map((prefix): CrdRow => [`the prefix ${prefix}`, { ...valid, prefix }, null]),
  ...["env", "a", "1a", "a-", "A1", "a_b"].map(
    (prefix): CrdRow => [`the prefix ${prefix}`, { ...valid, prefix }, badPrefix],
  ),
  ...lengthRows("prefix", { from: 1, to: 256 }, (prefix) => ({ ...valid, prefix })),
  ...lengthRows("description", { from: 1, to: 4096 }, (description) => ({ ...valid, description })),
  ...lengthRows("prefix of variables", { from: 1, to: 256 }, (prefix) => ({ ...valid, config: { prefix } })),
  ["a list as config", { ...valid, config: texts(1) }, /spec\.config.*must be of type object/],
  ["the config of another backend", { ...valid, config: { region: "eu-west-1" } }, /unknown field/],
  ["a number as description", { ...valid, description: 1 }, /spec\.description/],
];
