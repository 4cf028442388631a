import assert from "node:assert/strict";
import { test } from "node:test";
import { applyDocument, emptySnapshot, type Snapshot } from "@sluice/model";
import { logUnavailable } from "./log-unavailable.ts";

const id = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;
const closed = (reason: string) => ({ _sluice: { unavailable: reason } });
const documentOf = (routes: readonly object[], plugins: readonly object[]): Snapshot => {
  const applied = applyDocument(emptySnapshot, { _format_version: "3.0", routes, plugins });
  return applied.value ?? assert.fail(JSON.stringify(applied.violations));
};
function logged(before: Snapshot, now: Snapshot): readonly string[] {
  const lines: string[] = [];
  const log = { warn: (details: object, message: string) => void lines.push(`${JSON.stringify(details)} ${message}`) };
  logUnavailable({ log, hasPeers: false }, before, now);
  return lines;
}

test("routes and plugins that begin to answer 503 are logged with their reason, once for each reason", () => {
  const route = { id: id(1), name: "r", paths: ["/"], ...closed("no service") };
  const oauth2 = { id: id(2), name: "oauth2", ...closed("not enabled") };
  const off = { id: id(3), name: "acme", enabled: false, ...closed("not enabled") };
  const first = documentOf([route], [oauth2, off]);
  assert.deepEqual(logged(emptySnapshot, first), [
    `{"route":"${id(1)}","routeName":"r"} answers 503: no service`,
    `{"plugin":"${id(2)}","pluginName":"oauth2"} answers 503: not enabled`,
  ]);
  assert.deepEqual(logged(first, documentOf([{ ...route, tags: ["t"] }], [oauth2, off])), []);
  assert.deepEqual(
    logged(
      first,
      documentOf(
        [],
        [
          { ...oauth2, ...closed("another reason") },
          { ...off, enabled: true },
        ],
      ),
    ),
    [
      `{"plugin":"${id(2)}","pluginName":"oauth2"} answers 503: another reason`,
      `{"plugin":"${id(3)}","pluginName":"acme"} answers 503: not enabled`,
    ],
  );
});

test("credentials that their plugin refuses are logged", () => {
  const consumer = { id: id(1), username: "bob" };
  const credential = {
    id: id(2),
    plugin: "p",
    consumer,
    _sluice: { key_hash: "a".repeat(64), unavailable: "too short" },
  };
  const { value } = applyDocument(emptySnapshot, {
    _format_version: "3.0",
    consumers: [consumer],
    plugin_credentials: [{ ...credential, consumer: { id: id(1) } }],
  });
  assert.deepEqual(logged(emptySnapshot, value ?? assert.fail()), [
    `{"credential":"${id(2)}"} grants no access: too short`,
  ]);
});

test("of very many unavailable routes only the first are logged, and the others are counted", () => {
  const routes = Array.from({ length: 50 }, (_, at) => ({ id: id(at), paths: [`/${at}`], ...closed("no service") }));
  const lines = logged(emptySnapshot, documentOf(routes, []));
  assert.deepEqual(
    [lines.length, lines.at(-1)],
    [21, '{"more":30} more routes, plugins and credentials are unavailable'],
  );
});
