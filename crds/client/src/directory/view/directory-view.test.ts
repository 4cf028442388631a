import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { CachedFile } from "../files/file-cache.ts";
import {
  buildView,
  changedSince,
  changeView,
  type DirectoryView,
  type FileContent,
  type SourceFile,
} from "./directory-view.ts";
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
  return read<FileContent>({ good, faults: good.faults, broken: false });
}

const told = ({ entries: held }: DirectoryView) =>
  new Map(
    [...held].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, { resource, source }]) => [key, { resource, source }]),
  );

test("a view changed file by file is the view of all files, and tells what differs", () => {
  const steps = fc.array(fc.oneof(file, status), { maxLength: 40 });
  let quick = 0;
  fc.assert(
    fc.property(steps, (all) => {
      const sources = new Map<string, SourceFile>();
      const records = new Map<string, CachedFile<StatusRecord | null>>();
      const whole = (before?: DirectoryView) =>
        buildView(
          [...sources.values()].sort((one, other) => (one.path < other.path ? -1 : 1)),
          records,
          before,
        );
      let view = whole();
      const shown = new Map([[view.version, view]]);
      for (const step of all) {
        const earlier = new Map(sources);
        const touched: string[] = [];
        if ("path" in step) {
          const { path, isGone } = step;
          if (isGone) sources.delete(path);
          else sources.set(path, { path, file: contentOf(step) });
          touched.push(path);
        } else {
          const key = `Service/default/${step.name}`;
          records.set(key, read({ created: "2026-01-01T00:00:00Z", generation: step.generation, spec: "" }));
          touched.push(...(view.entries.has(key) ? [view.entries.get(key)?.source.path ?? ""] : []));
        }
        const changes = touched.map((path) => ({ path, before: earlier.get(path), after: sources.get(path) }));
        const changed = changeView(view, changes, records);
        if (changed) quick++;
        view = changed ?? whole(view);
        assert.deepEqual(told(view), told(whole()));
        assert.deepEqual(view.problems, whole().problems);
        for (const [version, before] of shown) {
          const keys = changedSince(view, version);
          if (!keys) continue;
          const differ = [...new Set([...before.entries.keys(), ...view.entries.keys()])].filter(
            (key) => before.entries.get(key)?.resource !== view.entries.get(key)?.resource,
          );
          const named = new Set(keys);
          assert.deepEqual(
            differ.filter((key) => !named.has(key)),
            [],
          );
        }
        shown.set(view.version, view);
      }
    }),
    { numRuns: 200 },
  );
  assert.ok(quick > 250, `only ${quick} views were changed file by file`);
});
