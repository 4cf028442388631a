/** The conformance suite of plugin caches. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CacheCodec, CacheOptions } from "@sluice/plugin-sdk";
import type { PluginCaches } from "../../../gateway/src/plugin-caches/create-caches.ts";

export const textCodec: CacheCodec<string> = {
  size: (text) => 2 * text.length,
  encode: (text) => Buffer.from(text),
  decode: (bytes) => (bytes.toString() === "malformed" ? undefined : bytes.toString()),
};

/** An implementation under test: fresh caches, and the options that choose it. */
export interface CachesUnderTest {
  readonly caches: PluginCaches;
  readonly options: CacheOptions<string>;
  /** Advances the clock by `milliseconds`, or waits until the value of the key `k` has expired. */
  readonly advance: (milliseconds: number) => Promise<void>;
}

export function cachesSuite(name: string, create: () => Promise<CachesUnderTest>): void {
  const withCaches = (run: (given: CachesUnderTest) => Promise<void>) => async () => {
    const given = await create();
    try {
      await run(given);
    } finally {
      given.caches.close();
    }
  };

  describe(name, () => {
    it(
      "return a stored value until it is replaced or deleted",
      withCaches(async ({ caches, options }) => {
        const cache = caches.open("a", options);
        assert.equal(await cache.get("k"), undefined);
        await cache.set("k", "1", 60_000);
        assert.equal(await cache.get("k"), "1");
        await cache.set("k", "2", 60_000);
        assert.equal(await cache.get("k"), "2");
        assert.deepEqual(
          [await cache.delete("k"), await cache.delete("k"), await cache.get("k")],
          [true, false, undefined],
        );
      }),
    );

    it(
      "lose a value after its lifetime",
      withCaches(async ({ caches, options, advance }) => {
        const cache = caches.open("a", options);
        await cache.set("k", "1", 50);
        await cache.set("long", "1", 60_000);
        assert.equal(await cache.get("k"), "1");
        await advance(60);
        assert.deepEqual(
          [await cache.get("k"), await cache.delete("k"), await cache.get("long")],
          [undefined, false, "1"],
        );
      }),
    );

    it(
      "of different instances are separate, even when one is cleared",
      withCaches(async ({ caches, options }) => {
        const [one, other] = [caches.open("a", options), caches.open("b", options)];
        for (let at = 0; at < 2500; at++) await one.set(`k${at}`, "1", 60_000);
        await other.set("k0", "2", 60_000);
        assert.deepEqual([await one.get("k0"), await other.get("k0")], ["1", "2"]);
        await one.clear();
        assert.deepEqual(
          [await one.get("k0"), await one.get("k2499"), await other.get("k0")],
          [undefined, undefined, "2"],
        );
      }),
    );
  });
}
