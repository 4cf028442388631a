import assert from "node:assert/strict";
import { test } from "node:test";
import { bucketDifferences } from "@sluice/model";
import fc from "fast-check";
import { refKey } from "../../keys.ts";
import type { CachedFile } from "../files/file-cache.ts";
import { DirectoryIndex, type DirectoryView, type FileContent, refOf, type SourceFile } from "./directory-view.ts";
import { parseResources } from "./parse-resources.ts";
import type { StatusRecord } from "./status-record.ts";

const names = ["a", "b", "c", "d", "e"];
const file = fc.record({
  path: fc.constantFrom("one.yaml", "two.yaml", "three.yaml"),
  services: fc.array(fc.record({ name: fc.constantFrom(...names), retries: fc.nat(3) }), { maxLength: 3 }),
  isGone: fc.boolean(),
  isOdd: fc.boolean(),
});
const status = fc.record({ name: fc.constantFrom(...names), generation: fc.nat(3) });

const read = <Value>(value: Value): CachedFile<Value> => ({ value, changedAt: 1, bornAt: 1 });

function contentOf({ services, isOdd }: { services: { name: string; retries: number }[]; isOdd: boolean }) {
  const documents = services.map(
    ({ name, retries }) =>
      `apiVersion: sluice.dev/v1alpha1\nkind: Service\nmetadata: {name: ${name}}\nspec: {retries: ${retries}}\n`,
  );
  const good = parseResources([...documents, ...(isOdd ? ["kind: Odd\n"] : [])].join("---\n"));
  return read<FileContent>(good);
}

const summaryOf = ({ entries: held }: DirectoryView) =>
  new Map(
    [...held]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, { resource, source }]) => [key, { resource, path: source.path, file: source.file }]),
  );

test("a view that is changed file by file equals the view of all files, and differences() names each changed resource", () => {
  const steps = fc.array(fc.oneof(file, status), { maxLength: 40 });
  fc.assert(
    fc.property(steps, (all) => {
      const files = new Map<string, CachedFile<FileContent>>();
      const records = new Map<string, CachedFile<StatusRecord | null>>();
      const sourceOf = (path: string): SourceFile | undefined => {
        const file = files.get(path);
        const found = file?.value.resources.map((placed) => records.get(refKey(refOf(placed))));
        return file && found && { path, file, records: found };
      };
      const whole = () => new DirectoryIndex().update([...files.keys()].map((path) => [path, sourceOf(path)]));
      const index = new DirectoryIndex();
      let view = index.update([]);
      const shown = [view];
      for (const step of all) {
        const touched: string[] = [];
        if ("path" in step) {
          const { path, isGone } = step;
          if (isGone) files.delete(path);
          else files.set(path, contentOf(step));
          touched.push(path);
        } else {
          const key = `Service/default/${step.name}`;
          records.set(key, read({ created: "2026-01-01T00:00:00Z", generation: step.generation, spec: "" }));
          touched.push(...files.keys());
        }
        view = index.update(touched.map((path) => [path, sourceOf(path)]));
        assert.deepEqual(summaryOf(view), summaryOf(whole()));
        assert.deepEqual(view.problems, whole().problems);
        for (const before of shown) {
          const differ = [...new Set([...before.entries.keys(), ...view.entries.keys()])].filter(
            (key) => before.entries.get(key)?.resource !== view.entries.get(key)?.resource,
          );
          const named = new Set(bucketDifferences(before.entries, view.entries).map(({ key }) => key));
          assert.deepEqual(
            differ.filter((key) => !named.has(key)),
            [],
          );
        }
        shown.push(view);
      }
    }),
    { numRuns: 200 },
  );
});

test("a view stays the same object when no file differs", () => {
  const index = new DirectoryIndex();
  const source = (): SourceFile => ({ path: "one.yaml", file: content, records: [undefined] });
  const content = contentOf({ services: [{ name: "a", retries: 1 }], isOdd: true });
  const view = index.update([["one.yaml", source()]]);
  assert.equal(index.update([["one.yaml", source()]]), view);
  assert.equal(view.problems.length, 1);
});
