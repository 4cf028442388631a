import assert from "node:assert/strict";
import { test } from "node:test";
import { type Collection, checkEntity } from "@sluice/model";
import type { Effect } from "../../stores/store.ts";
import type { EntityReader } from "../requests.ts";
import { createWarnings } from "./response-headers.ts";

function effectOf(collection: Collection, given: object): Effect {
  const { value: after = assert.fail(`the entity of ${collection} is not valid`) } = checkEntity(collection, given);
  return { collection, before: null, after, along: [] };
}

test("a store that fails while warnings are looked up fails the response, and not the process", async () => {
  const failure = new Error("the connection to the database has ended");
  const store = {
    // The documents are looked up later than the upstream fails.
    async find(collection: Collection) {
      if (collection === "upstreams") throw failure;
      await new Promise(setImmediate);
      return null;
    },
  } as unknown as EntityReader;
  const config = { trusted_documents: { documents: ["web"] } };
  const effects = [
    effectOf("services", { name: "a", host: "localhost" }),
    effectOf("plugins", { name: "graphql", config }),
  ];
  const warnings = createWarnings(store, () => "it is this machine");
  // An unhandled rejection would fail this test.
  await assert.rejects(warnings(effects), failure);
});
