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
