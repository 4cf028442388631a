import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GRAPHQL_RESPONSE, JSON_TYPE, mediaTypeOf, wantsEventStream } from "./negotiate.ts";

const textOf = (accept: string | undefined): string =>
  accept === undefined ? "a missing Accept header" : `Accept: ${accept || "(empty)"}`;

describe("the media type of a response", () => {
  const cases = [
    [undefined, JSON_TYPE],
    ["", JSON_TYPE],
    ["*/*", JSON_TYPE],
    ["application/*", JSON_TYPE],
    ["application/json", JSON_TYPE],
    ["application/graphql-response+json", GRAPHQL_RESPONSE],
    ["Application/GraphQL-Response+JSON; charset=utf-8", GRAPHQL_RESPONSE],
    ["application/graphql-response+json, application/json;q=0.9", GRAPHQL_RESPONSE],
    ["application/json, application/graphql-response+json", GRAPHQL_RESPONSE],
    ["application/graphql-response+json;q=0.5, application/json", JSON_TYPE],
    ["application/graphql-response+json;q=0, */*", JSON_TYPE],
    ["text/html, */*;q=0.1", JSON_TYPE],
    ["application/json;q=0, */*", null],
    ["text/html", null],
    ["application/json;q=x", null],
  ] as const;
  for (const [accept, type] of cases) {
    it(`for ${textOf(accept)} is ${type ?? "none"}`, () => assert.equal(mediaTypeOf(accept), type));
  }
});

describe("an event stream", () => {
  const cases = [
    [undefined, false],
    ["*/*", false],
    ["text/*", false],
    ["text/event-stream", true],
    ["Text/Event-Stream;charset=utf-8", true],
    ["text/event-stream, multipart/mixed", true],
    ["text/event-stream, */*", true],
    ["text/event-stream;q=0", false],
    ["text/event-stream;q=0.5, application/json;q=0.4", true],
    ["text/event-stream;q=0.5, application/json", false],
    ["application/graphql-response+json, application/json, text/event-stream, multipart/mixed", false],
  ] as const;
  for (const [accept, wanted] of cases) {
    it(`is ${wanted ? "" : "not "}requested by ${textOf(accept)}`, () =>
      assert.equal(wantsEventStream(accept), wanted));
  }
});
