import assert from "node:assert/strict";
import { test } from "node:test";
import { faultText } from "../fault.ts";
import { checkArchitecture, checkIndex } from "./check-architecture.ts";

const store = {
  path: "gateway/src/stores/store.ts",
  text:
    "export interface Store {\n  /** All. */\n  list<Name>(name: Name): Promise<void>;\n  readonly database?: boolean;\n" +
    "  write(\n    writes: readonly string[],\n  ): Promise<void>;\n}\n\nexport type MakeStore = () => Store;\n",
};
const faultsOf = (text: string) =>
  checkArchitecture([{ path: "ARCHITECTURE.md", text }, store], ["ARCHITECTURE.md", store.path]).map(faultText);

const complete = "| `gateway/src/stores` | stores |\n";

test("the architecture check accepts a page that names every folder and lists the members of an interface", () => {
  const row = "| [`Store`](gateway/src/stores/store.ts) (gateway) | `list`, `write`, `database` | |\n";
  const type = "| [`MakeStore`](gateway/src/stores/store.ts) | a function | |\n";
  assert.deepEqual(faultsOf(complete + row + type), []);
});

const refused: readonly (readonly [text: string, fault: string])[] = [
  ["", "ARCHITECTURE.md: does not name the folder `gateway/src/stores`"],
  [`${complete}see \`gateway/src/gone.ts\``, "ARCHITECTURE.md:2: names gateway/src/gone.ts, which does not exist"],
  [
    `${complete}| [\`Store\`](gateway/src/stores/store.ts) | \`list\` |`,
    "ARCHITECTURE.md:2: Store in gateway/src/stores/store.ts has the members list, database, write, not list",
  ],
  [
    `${complete}| [\`Gone\`](gateway/src/stores/store.ts) | \`list\` |`,
    "ARCHITECTURE.md:2: Gone in gateway/src/stores/store.ts is not declared there",
  ],
];
for (const [text, fault] of refused) {
  test(`the architecture check reports: ${fault}`, () => assert.deepEqual(faultsOf(text), [fault]));
}

test("the index check reports a page below docs that the index does not link to, unless it is a decision record", () => {
  const pages = ["docs/how-to/a.md", "docs/how-to/b.md", "docs/decisions/0001-c.md"].map((path) => ({
    path,
    text: "",
  }));
  const found = checkIndex([{ path: "docs/README.md", text: "[A](how-to/a.md)" }, ...pages]);
  assert.deepEqual(found.map(faultText), ["docs/README.md: does not link to docs/how-to/b.md"]);
});
