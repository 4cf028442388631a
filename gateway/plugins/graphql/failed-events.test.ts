/** Errors in the events of a stream. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FailedEvents } from "./failed-events.ts";

const OK = '{"data":{"userCreated":{"name":"errors"}}}';
const BAD = '{"data":null,"errors":[{"message":"no"}]}';
const next = (result: string): string => `event: next\ndata: ${result}\n\n`;

const streams: readonly (readonly [what: string, stream: string, hasFailed: boolean])[] = [
  ["results without errors", `:\n\n${next(OK)}${next(OK)}event: complete\ndata:\n\n`, false],
  ["a result with errors after others", next(OK) + next(BAD) + next(OK), true],
  ["an empty list of errors", next('{"errors":[],"data":{}}'), false],
  ["errors that are null", next('{"errors":null,"data":{}}'), false],
  ["errors that are an object", next('{"errors":{}}'), true],
  ["a text with the name", next('{"data":"\\"errors\\":[1]"}'), false],
  ["a member of the data with the name", next('{"data":{"errors":[1]}}'), false],
  ["lines that end with CR LF", next(BAD).replaceAll("\n", "\r\n"), true],
  ["a result in several lines", 'data: {"data":null,\ndata: "errors":[1]}\n\n', true],
  ["no space after the colon, and another member first", `id: 1\ndata:${BAD}\n\n`, true],
  ["errors in a comment", `: ${BAD}\n\n`, false],
  ["data that are no JSON", 'data: "errors"x\n\n', false],
  ["an event that has not ended", `data: ${BAD}\n`, false],
  ["errors in an event that is too long", next(`${BAD}${" ".repeat(1000)}`), false],
  ["errors after an event that is too long", next(`"${"x".repeat(3000)}"`) + next(BAD), true],
  ["errors after an event of very many lines", `${"data:\n".repeat(1100)}\n${next(BAD)}`, true],
];

describe("an event stream", () => {
  for (const [what, stream, hasFailed] of streams)
    it(`with ${what} has ${hasFailed ? "failed" : "not failed"}, however it is split`, () => {
      for (const size of [stream.length, 7, 1]) {
        const events = new FailedEvents(1000);
        for (let at = 0; at < stream.length; at += size) events.search(Buffer.from(stream.slice(at, at + size)));
        assert.equal(events.has(), hasFailed, `in pieces of ${size}`);
      }
    });
});
