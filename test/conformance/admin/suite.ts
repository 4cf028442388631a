/** Runs the tables of requests and responses against an admin listener over any store. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Reply, RequestOptions } from "../../../gateway/src/admin/testing.ts";
import { fixture, fixtureLists } from "./fixture.ts";
import type { AdminRow, AdminTable } from "./row.ts";
import { tables as allTables } from "./tables.ts";

export interface AdminHolder {
  ask(method: string, path: string, asking?: RequestOptions): Promise<Reply>;
  close(): Promise<void>;
}

interface SuiteOptions {
  readonly database?: boolean;
  /** Default: all. */
  readonly tables?: readonly AdminTable[];
}

/** @param hold Starts an admin listener over an empty, writable store. */
export function describeAdmin(
  name: string,
  hold: () => Promise<AdminHolder>,
  { database = false, tables = allTables }: SuiteOptions = {},
): void {
  const elsewhere = database ? "elsewhere" : "in a database";
  describe(`the admin API over ${name}`, () => {
    let holder: AdminHolder | undefined;
    before(async () => {
      holder = await hold();
    });
    after(() => holder?.close());
    const asked = (): AdminHolder => {
      assert.ok(holder, "the listener has not started");
      return holder;
    };

    for (const { of, rows } of tables) {
      describe(of, () => {
        const kept = new Map<string, string>();
        before(async () => {
          await clear(asked());
          await fill(asked());
        });
        for (const row of rows.filter(({ where }) => where !== elsewhere))
          test(row.does, () => check(asked(), row, kept));
      });
    }
  });
}

async function clear({ ask }: AdminHolder): Promise<void> {
  for (const list of fixtureLists) {
    for (;;) {
      const { body } = await ask("GET", list);
      const { data } = body as { data: readonly { id: string }[] };
      if (data.length === 0) break;
      for (const { id } of data) assert.equal((await ask("DELETE", `${list}/${id}`)).status, 204, `${list}/${id}`);
    }
  }
}

async function fill({ ask }: AdminHolder): Promise<void> {
  for (const [path, json] of fixture) {
    const { status, body } = await ask("POST", path, { json });
    assert.equal(status, 201, JSON.stringify(body));
  }
}

async function check({ ask }: AdminHolder, row: AdminRow, kept: Map<string, string>): Promise<void> {
  const {
    ask: line,
    status,
    body,
    has,
    matches = {},
    lacks = [],
    message,
    sends = {},
    keep,
    headers = [],
    ...asking
  } = row;
  const filled = (text: string): string => text.replace(/\{(\w+)\}/g, (whole, word) => kept.get(word) ?? whole);
  const [method = "", path = ""] = line.split(" ");
  const reply = await ask(method, filled(path), {
    ...asking,
    headers: headers.map(([name, value]) => [name, filled(value)] as const),
  });
  assert.equal(reply.status, status, JSON.stringify(reply.body));
  if (body !== undefined) assert.deepEqual(reply.body, body);
  if (has !== undefined) assert.partialDeepStrictEqual(reply.body, has);
  for (const [member, value] of Object.entries(matches))
    assert.match(String(Object(reply.body)[member]), value, member);
  for (const member of lacks)
    assert.ok(!Object.hasOwn(Object(reply.body), member), `the body has the member ${member}`);
  const actual = (reply.body as { message?: string } | undefined)?.message ?? "";
  if (typeof message === "string") assert.equal(actual, message);
  if (message instanceof RegExp) assert.match(actual, message);
  for (const [header, value] of Object.entries(sends)) {
    if (value instanceof RegExp) assert.match(String(reply.headers[header]), value, header);
    else assert.equal(reply.headers[header], value, header);
  }
  if (keep) kept.set(keep.as, String(reply.headers[keep.header]));
}
