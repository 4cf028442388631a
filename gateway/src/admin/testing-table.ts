/**
 * Tables of requests and expected responses. Each row is a test against one listener that already holds some entities.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { deriveId } from "@sluice/model";
import { type AdminRig, type RequestOptions, startAdminRig } from "./testing.ts";

interface Row extends RequestOptions {
  /** The behaviour, as a predicate. Its subject is the name of the table. */
  readonly does: string;
  /** Method and path: `POST /services`. */
  readonly ask: string;
  readonly status: number;
  /** The whole expected body. */
  readonly body?: unknown;
  /** A part of the expected body. */
  readonly has?: object;
  readonly message?: string | RegExp;
  /** Headers by lower-case names; undefined: absent. */
  readonly sends?: Readonly<Record<string, string | RegExp | undefined>>;
}

const ids = {
  service: deriveId("services", "base"),
  route: deriveId("routes", "base"),
  consumer: deriveId("consumers", "base"),
  key: "11111111-1111-4111-8111-111111111111",
  plugin: deriveId("plugins", "base"),
  unknown: "99999999-9999-4999-8999-999999999999",
} as const;

/** A service, its route and plugin, and a consumer, all named `base`; the consumer has the key `base-key`. */
const fixture: readonly (readonly [string, object])[] = [
  ["/services", { name: "base", host: "base.example" }],
  ["/services/base/routes", { name: "base", paths: ["/base"] }],
  ["/consumers", { username: "base", custom_id: "base-42" }],
  ["/consumers/base/key-auth", { id: ids.key, key: "base-key" }],
  ["/services/base/plugins", { name: "cors", instance_name: "base" }],
];

export function describeTable(name: string, rows: readonly Row[]): void {
  describe(name, () => {
    let rig: AdminRig;
    before(async () => {
      rig = await startAdminRig();
      for (const [path, json] of fixture) {
        const { status, body } = await rig.ask("POST", path, { json });
        assert.equal(status, 201, JSON.stringify(body));
      }
    });
    after(() => rig.close());

    for (const row of rows) test(row.does, () => check(rig, row));
  });
}

async function check(rig: AdminRig, { ask, status, body, has, message, sends = {}, ...asking }: Row): Promise<void> {
  const [method = "", path = ""] = ask.split(" ");
  const reply = await rig.ask(method, path, asking);
  assert.equal(reply.status, status, JSON.stringify(reply.body));
  if (body !== undefined) assert.deepEqual(reply.body, body);
  if (has !== undefined) assert.partialDeepStrictEqual(reply.body, has);
  const actual = (reply.body as { message?: string } | undefined)?.message ?? "";
  if (typeof message === "string") assert.equal(actual, message);
  if (message instanceof RegExp) assert.match(actual, message);
  for (const [header, value] of Object.entries(sends)) {
    if (value instanceof RegExp) assert.match(String(reply.headers[header]), value, header);
    else assert.equal(reply.headers[header], value, header);
  }
}
