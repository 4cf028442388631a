import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { consumerOf } from "./caller.ts";

describe("the consumer in the gateway's headers", () => {
  const cases = [
    ["is absent without headers", {}, null],
    [
      "has id and name",
      { "x-consumer-id": "1", "x-consumer-username": "demo" },
      { id: "1", username: "demo", tags: [] },
    ],
    ["is named by its id when it has no name", { "x-consumer-id": "1" }, { id: "1", username: "1", tags: [] }],
    [
      "has its tags",
      { "x-consumer-id": "1", "x-consumer-tags": "writer, staff,," },
      { id: "1", username: "1", tags: ["writer", "staff"] },
    ],
    ["is absent when only a name is given", { "x-consumer-username": "demo" }, null],
    ["is absent when anonymous", { "x-consumer-id": "1", "x-anonymous-consumer": "true" }, null],
  ] as const;
  for (const [name, headers, consumer] of cases) {
    it(name, () => assert.deepEqual(consumerOf(headers), consumer));
  }
});
