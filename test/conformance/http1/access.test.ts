import assert from "node:assert/strict";
import { createServer, type IncomingMessage } from "node:http";
import { duplexPair } from "node:stream";
import { test } from "node:test";
import { headerOf, headerValues, indexOf, rawHeaders } from "../../../gateway/src/proxy/http1/parse/fields.ts";
import { RequestHeadParser } from "../../../gateway/src/proxy/http1/parse/request-head.ts";

/** Names that Node treats specially, and other names. */
const names = [
  ...["age", "authorization", "content-type", "etag", "expires", "from", "if-modified-since", "if-unmodified-since"],
  ...["last-modified", "location", "max-forwards", "proxy-authorization", "referer", "retry-after", "server"],
  ...[
    "user-agent",
    "cookie",
    "set-cookie",
    "accept",
    "via",
    "x-forwarded-for",
    "connection",
    "vary",
    "x-any",
    "apikey",
  ],
  ...["date", "content-encoding", "range", "te", "trailer", "www-authenticate", "cache-control"],
];

const capitals = (name: string): string => name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase());
const lines = names.flatMap((name) => [`${name}: 1 \xe9`, `${capitals(name)}:2`, `${name.toUpperCase()}:  3 `]);
const text = `POST / HTTP/1.1\r\nHOST: a\r\n${lines.join("\r\n")}\r\nContent-Length: 0\r\n\r\n`;

/** The request that node:http parses from the bytes, without a network. */
async function byNode(bytes: Buffer): Promise<IncomingMessage> {
  const [client, socket] = duplexPair();
  const server = createServer();
  const message = new Promise<IncomingMessage>((resolve, reject) => {
    server.once("request", resolve).once("clientError", reject);
  });
  server.emit("connection", socket);
  client.write(bytes);
  const request = await message;
  client.destroy();
  server.close();
  return request;
}

test("header fields are read as node:http reads them", async () => {
  const bytes = Buffer.from(text, "latin1");
  const request = await byNode(bytes);
  const head = new RequestHeadParser({ line: 100, fields: 10_000, count: 200 });
  assert.equal(head.parse(bytes, 0, bytes.length), bytes.length);
  assert.deepEqual(rawHeaders(head.fields), request.rawHeaders);
  assert.deepEqual(Object.keys(request.headers).toSorted(), [...names, "host", "content-length"].toSorted());
  for (const name of Object.keys(request.headers)) {
    const expected = request.headers[name];
    assert.equal(headerOf(head.fields, name), Array.isArray(expected) ? expected.join(", ") : expected, name);
    assert.deepEqual(headerValues(head.fields, name), request.headersDistinct[name], name);
  }
});

test("a header with the name of an inherited property is read like any other header", () => {
  const bytes = Buffer.from("GET / HTTP/1.1\r\nHost: a\r\n__proto__: 1\r\nconstructor: 2\r\n\r\n");
  const head = new RequestHeadParser();
  head.parse(bytes, 0, bytes.length);
  const values = ["host", "__proto__", "constructor", "prototype"].map((name) => headerOf(head.fields, name));
  assert.deepEqual(values, ["a", "1", "2", undefined]);
});

test("an absent header has no value, even if a header with a similar name is present", () => {
  const bytes = Buffer.from(
    "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded_For: 1\r\nX-Anyway: 2\r\nX-Consumer-Name: 3\r\n\r\n",
  );
  const head = new RequestHeadParser();
  head.parse(bytes, 0, bytes.length);
  for (const name of ["apikey", "x-any", "x-forwarded-for", "x-consumer-id", "x-consumer-"]) {
    assert.equal(headerOf(head.fields, name), undefined, name);
    assert.deepEqual(headerValues(head.fields, name), []);
    assert.equal(indexOf(head.fields, name), -1);
  }
  assert.equal(headerOf(head.fields, "x-forwarded_for"), "1");
});
