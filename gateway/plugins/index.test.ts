import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { builtInPlugins } from "./index.ts";
import { builtInFacts } from "./schemas.ts";

describe("the plugins", () => {
  it("are exactly those whose facts schemas.ts lists", () => {
    const names = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name).toSorted();
    assert.deepEqual(names(builtInPlugins), names(builtInFacts));
  });

  it("import no HTTP library", async () => {
    const files = await readdir(import.meta.dirname, { recursive: true });
    const sources = files.filter((file) => file.endsWith(".ts") && !/^(build|node_modules)/.test(file));
    assert.ok(sources.length > 10);
    for (const file of sources) {
      const text = await readFile(join(import.meta.dirname, file), "utf8");
      const engine = text.match(/from "(node:https?2?|fastify|undici|@fastify\/[^"]*)"/);
      assert.equal(engine, null, `${file} imports ${engine?.[1]}`);
    }
  });
});
