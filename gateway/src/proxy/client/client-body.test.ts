import assert from "node:assert/strict";
import { test } from "node:test";
import { ByteView } from "../sockets/byte-view.ts";
import { type BodySink, ClientBody } from "./client-body.ts";

/** A sink that records its calls. */
function sink(): BodySink & { readonly got: string[] } {
  const got: string[] = [];
  return {
    got,
    writeBody(view) {
      got.push(view.latin1());
    },
    flushBody: () => true,
    endBody: (trailers) => void got.push(`end${trailers}`),
  };
}

test("data and the end of a client body that arrive between two attempts are forwarded by the second attempt", () => {
  const body = new ClientBody(null, () => {});
  const [first, second] = [sink(), sink()];
  body.forwardTo(first);
  body.detachSink();
  assert.equal(body.wanted, false);
  body.write(ByteView.of(Buffer.from("one")));
  assert.equal(body.begun, false);
  body.end(" of it");
  body.forwardTo(second);
  assert.deepEqual(second.got, ["one", "end of it"]);
  assert.deepEqual(first.got, []);
});

test("a client body requests more data again when the second attempt begins", () => {
  let asked = 0;
  const body = new ClientBody(null, () => asked++);
  body.forwardTo(sink());
  body.detachSink();
  body.forwardTo(sink());
  assert.deepEqual([asked, body.wanted], [2, true]);
});

test("a client body that was replaced ignores `detachSink`, and keeps only the replacement", () => {
  const body = new ClientBody(null, () => {});
  body.replace(Buffer.from("other"));
  body.detachSink();
  body.write(ByteView.of(Buffer.from("was")));
  assert.equal(body.wanted, true);
  assert.equal(body.whole?.toString(), "other");
});

test("a client body that exceeded a plugin's limit is read further for a plugin with a higher limit", async () => {
  const body = new ClientBody(null, () => {});
  const first = body.read(2);
  body.write(ByteView.of(Buffer.from("abc")));
  assert.equal(await first, null);
  const second = body.read(5);
  body.write(ByteView.of(Buffer.from("de")));
  body.end("");
  assert.equal((await second)?.toString(), "abcde");
  assert.equal(await body.read(4), null);
});

test("a client body that exceeded a plugin's limit is forwarded as a whole", async () => {
  const body = new ClientBody(null, () => {});
  const read = body.read(2);
  body.write(ByteView.of(Buffer.from("abc")));
  assert.equal(await read, null);
  const upstream = sink();
  body.forwardTo(upstream);
  body.write(ByteView.of(Buffer.from("de")));
  body.end("");
  assert.deepEqual(upstream.got, ["abc", "de", "end"]);
});

test("a complete client body that exceeded a plugin's limit is returned to a plugin with a higher limit", async () => {
  const body = new ClientBody(null, () => {});
  const first = body.read(2);
  body.write(ByteView.of(Buffer.from("abc")));
  body.end("");
  assert.equal(await first, null);
  assert.equal((await body.read(5))?.toString(), "abc");
});

/** Steps of a body, and what `arrived` returns after each. */
const arrivals: readonly (readonly [what: string, declared: number | null, pieces: readonly string[], got: unknown])[] =
  [
    ["that arrives while it is asked for", 3, ["abc"], "abc"],
    ["without a declared length that arrives while it is asked for", null, ["ab", "c"], "abc"],
    ["that is declared longer than the limit", 6, ["abcdef"], null],
    ["that turns out to be longer than the limit", null, ["abcdef"], null],
  ];

for (const [what, declared, pieces, got] of arrivals)
  test(`a client body ${what} is returned without a promise`, async () => {
    const body: ClientBody = new ClientBody(declared, () => {
      for (const piece of pieces) if (body.wanted) body.write(ByteView.of(Buffer.from(piece)));
      if (body.wanted) body.end("");
    });
    assert.equal(body.arrived(5)?.toString() ?? null, got);
    assert.equal((await body.read(5))?.toString() ?? null, got);
    const upstream = sink();
    if (got !== null) assert.equal(body.whole?.toString(), got);
    else {
      body.forwardTo(upstream);
      assert.equal(upstream.got.join("").slice(0, 6), declared === null ? "abcdef" : "abcdef".slice(0, 6));
    }
  });

test("a client body that arrives late is returned by a promise, after it was asked for without one", async () => {
  const body = new ClientBody(null, () => {});
  assert.equal(body.arrived(5), undefined);
  const read = body.read(5);
  body.write(ByteView.of(Buffer.from("abc")));
  body.end("");
  assert.equal((await read)?.toString(), "abc");
  assert.equal(body.arrived(2), null);
});

test("a client body that is lost is neither returned without a promise, nor does its reader wait", async () => {
  const body = new ClientBody(null, () => {});
  assert.equal(body.arrived(5), undefined);
  body.lose();
  assert.equal(body.arrived(5), undefined);
  await assert.rejects(body.read(5), { name: "BodyLostError" });
});
