import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Ownership, ownershipHash } from "./view.ts";

describe("Ownership", () => {
  const members = Array.from({ length: 8 }, (_, at) => `node-${at}`);
  const hashes = Array.from({ length: 8000 }, (_, at) => ownershipHash(`hour:0:consumer-${at}`));

  it("gives each of 8 members about an eighth of the counters", () => {
    const ownership = new Ownership({ epoch: 1, members, leaving: [] });
    const owned = Map.groupBy(hashes, (hash) => ownership.ownerOf(hash));
    for (const member of members) {
      const count = owned.get(member)?.length ?? 0;
      assert.ok(count > 850 && count < 1150, `${member}: ${count}`);
    }
  });

  it("moves only the counters of a member that leaves, whatever the order of the members", () => {
    const before = new Ownership({ epoch: 1, members, leaving: [] });
    const after = new Ownership({ epoch: 2, members: members.slice(1).reverse(), leaving: ["node-0"] });
    for (const hash of hashes) {
      if (before.ownerOf(hash) !== "node-0") assert.equal(after.ownerOf(hash), before.ownerOf(hash));
    }
  });

  it("has no owner without members", () => {
    assert.equal(new Ownership({ epoch: 1, members: [], leaving: [] }).ownerOf(1), undefined);
  });
});
