import assert from "node:assert/strict";
import { test } from "node:test";
import { createPushFence } from "./push-fence.ts";

type Place = readonly [term: number | undefined, revision: number];

const cases: readonly (readonly [what: string, served: readonly Place[], push: Place, said: RegExp | null])[] = [
  ["the first push", [], [0, 0], null],
  ["the next revision", [[2, 5]], [2, 6], null],
  ["a repeated push whose response was lost", [[2, 5]], [2, 5], null],
  ["a lower revision of the same term", [[2, 5]], [2, 4], /^revision 4 of term 2 is outdated: .* revision 5$/],
  ["a lower revision of a higher term", [[2, 5]], [3, 1], null],
  ["a higher revision of a lower term", [[2, 5]], [1, 9], /^term 1 is over: this node has seen term 2$/],
  ["a push without a term after a push with a term", [[2, 5]], [undefined, 9], /^term 0 is over/],
  ["a lower revision where no push has a term", [[undefined, 5]], [undefined, 4], /^revision 4 of term 0 is outdated/],
];

const placeOf = ([term, revision]: Place) => ({ revision, ...(term !== undefined && { term }) });

for (const [what, served, push, said] of cases)
  test(`${what} is ${said ? "outdated" : "accepted"}`, () => {
    const fence = createPushFence();
    for (const place of served) fence.markServed(placeOf(place));
    const answer = fence.outdatedReason(placeOf(push));
    if (said) assert.match(answer ?? "", said);
    else assert.equal(answer, null);
  });

test("once a push of a higher term is seen, lower terms are over, even if that push is never served", () => {
  const fence = createPushFence();
  fence.markServed({ term: 2, revision: 5 });
  assert.equal(fence.outdatedReason({ term: 3, revision: 1 }), null);
  assert.equal(fence.term(), 3);
  assert.match(fence.outdatedReason({ term: 2, revision: 6 }) ?? "", /^term 2 is over: this node has seen term 3$/);
});
