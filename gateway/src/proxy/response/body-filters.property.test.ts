/** However a body is divided into pieces, filters that ignore the boundaries of pieces return the same body. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { BodyFilter } from "@sluice/plugin-sdk";
import fc from "fast-check";
import { fakeExchange } from "../../../../test/plugins/fake-exchange.ts";
import type { LiveExchange } from "../exchange/live-exchange.ts";
import { BodyFilters } from "./body-filters.ts";

interface Modelled {
  /** A new filter for one response. */
  readonly open: () => BodyFilter;
  /** Its effect on a whole body. */
  readonly apply: (body: Buffer) => Buffer;
}

const inverted = (body: Buffer): Buffer => Buffer.from(body.map((byte) => byte ^ 0xff));
const withoutSmall = (body: Buffer): Buffer => body.filter((byte) => byte >= 0x80) as Buffer;
const reversed = (body: Buffer): Buffer => Buffer.from(body.toReversed());
const mark = Buffer.from("!");

const streaming: readonly Modelled[] = [
  { open: () => ({ piece: inverted }), apply: inverted },
  { open: () => ({ piece: (bytes) => Buffer.from(withoutSmall(bytes)) }), apply: withoutSmall },
  {
    open: () => ({ piece: (bytes) => bytes, end: () => mark }),
    apply: (body) => Buffer.concat([body, mark]),
  },
  {
    open() {
      let length = 0;
      return {
        piece(bytes) {
          length += bytes.length;
          return bytes;
        },
        end: () => Buffer.from(`${length}`),
      };
    },
    apply: (body) => Buffer.concat([body, Buffer.from(`${body.length}`)]),
  },
];

const buffering = (limit: number): Modelled => ({
  open: () => ({ limit, longer: "unchanged", whole: reversed }),
  apply: (body) => (body.length > limit ? body : reversed(body)),
});

const filters = fc.array(fc.oneof(fc.constantFrom(...streaming), fc.nat(30).map(buffering)), {
  minLength: 1,
  maxLength: 4,
});

/** An exchange on a route with these filters. */
const exchangeWith = (chain: readonly Modelled[]): LiveExchange => {
  const bodySteps = chain.map(({ open }, at) => ({ priority: -at, phases: { responseBody: open } }));
  return { ...fakeExchange(), lacksBody: false, chain: { steps: bodySteps, bodySteps } } as object as LiveExchange;
};

test("the division of a body into pieces does not change the filtered body, and nothing is sent while a filter buffers", () => {
  fc.assert(
    fc.property(
      filters,
      fc.array(fc.uint8Array({ minLength: 1, maxLength: 12 }), { maxLength: 6 }),
      fc.boolean(),
      (chain, pieces, isSized) => {
        const body = Buffer.concat(pieces);
        const headers = isSized ? ["Content-Length", String(body.length)] : [];
        const opened = BodyFilters.open(exchangeWith(chain), { status: 200, headers });
        const sent: Buffer[] = [];
        const push = (more: readonly Buffer[]) => {
          assert.ok(more.length === 0 || opened?.isHolding !== true);
          assert.ok(more.every(({ length }) => length > 0));
          sent.push(...more);
        };
        for (const piece of pieces) push(opened?.filter(Buffer.from(piece)) ?? [Buffer.from(piece)]);
        push(opened?.end([]) ?? []);
        const expected = chain.reduce<Buffer>((before, { apply }) => apply(before), body);
        assert.deepEqual(Buffer.concat(sent), expected);
      },
    ),
  );
});
