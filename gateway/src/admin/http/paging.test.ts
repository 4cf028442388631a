import assert from "node:assert/strict";
import { test } from "node:test";
import { startAdminRig } from "../testing.ts";

interface Page {
  readonly data: readonly { readonly id: string }[];
  readonly next: string | null;
  readonly offset?: string;
}

test("a list returns every entity once, page by page, with the path of the next page", async () => {
  const rig = await startAdminRig();
  try {
    const made = [];
    for (let count = 0; count < 5; count++) {
      const { body } = await rig.ask("POST", "/services", { form: `name=s${count}&host=a` });
      made.push((body as { id: string }).id);
    }
    const seen: string[] = [];
    let path: string | null = "/services/?size=2";
    for (let pages = 0; path !== null; pages++) {
      assert.ok(pages < 3, "there are three pages");
      const page = (await rig.ask("GET", path)).body as Page;
      seen.push(...page.data.map(({ id }) => id));
      assert.equal(page.next === null, page.offset === undefined);
      if (page.next !== null) {
        assert.equal(page.next, `/services?offset=${encodeURIComponent(page.offset ?? "")}&size=2`);
      }
      path = page.next;
    }
    assert.deepEqual(seen, made.sort());
  } finally {
    await rig.close();
  }
});
