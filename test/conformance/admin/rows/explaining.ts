/** Requests to explain that are refused. No node is known to these listeners. */
import type { AdminTable } from "../row.ts";

const url = "http://x.example/";
const invalid = (json: object, fields: object, does: string) =>
  ({ does, ask: "POST /explain", json, status: 400, has: { code: 2, fields } }) as const;

export const explainingTable: AdminTable = {
  of: "a request to explain",
  rows: [
    {
      does: "is answered with 503 while no node is known",
      ask: "POST /explain",
      json: { url },
      status: 503,
      where: "in a database",
      body: { message: "no node is running, or none is known to this process" },
    },
    invalid({}, { url: "required field missing" }, "needs a URL"),
    invalid({ url, path: "/x" }, { path: "unknown field" }, "must not have an unknown member"),
    invalid({ url: 1 }, { url: "expected a string" }, "must not have a number as its URL"),
    ...[
      "/users",
      "ftp://x.example/",
      "http://",
      "http:///x",
      "http://x.example/a b",
      "http://x.example/#part",
      "http://x.example/\u0000",
    ].map((bad) =>
      invalid(
        { url: bad },
        { url: "expected a URL such as http://api.example/users" },
        `must not have ${JSON.stringify(bad)} as its URL`,
      ),
    ),
    invalid({ url, method: "a b" }, { method: "expected a method such as GET" }, "must not have a method with a space"),
    invalid({ url, http_version: "3" }, { http_version: "expected one of: 1.1, 2" }, "must be HTTP/1.1 or HTTP/2"),
    invalid(
      { url, client_address: "::1::" },
      { client_address: "expected an IP address" },
      "must come from an address",
    ),
    invalid(
      { url, headers: { "x-one": "a\r\nx-two: b" } },
      { headers: { "x-one": ["must not contain line breaks or other control characters"] } },
      "must not have a header with a line break",
    ),
    invalid(
      { url, headers: { "x one": "1" } },
      { headers: "bad header name 'x one', allowed characters are A-Z, a-z, 0-9, '_', and '-'" },
      "must not have a header name with a space",
    ),
    invalid({ url, headers: { "x-one": [1] } }, { headers: {} }, "must not have a number as the value of a header"),
    invalid({ url, headers: ["x-one"] }, { headers: "expected a map" }, "must not have a list of headers"),
    invalid(
      { url, body: "1", body_size: 1 },
      { body_size: "set either body or body_size" },
      "must not have both a body and a size",
    ),
    invalid(
      { url, body_size: 1, headers: { "Transfer-Encoding": "chunked" } },
      { body_size: "with Transfer-Encoding the gateway does not know the size: set body" },
      "must not have both a body size and Transfer-Encoding",
    ),
    invalid(
      { url, body: "123", headers: { "Content-Length": "4" } },
      { headers: { "content-length": "the body has 3 bytes" } },
      "must not have a Content-Length other than the length of its body",
    ),
    ...["tcp://a.example", "tls://a.example:0", "tcp://a.example:70000", "tls://a.example:443/x", "tcp:a:1"].map(
      (bad) =>
        invalid(
          { url: bad },
          { url: "expected a URL such as tcp://10.0.0.7:9100 or tls://mail.example:9443" },
          `must not have ${bad} as the URL of a connection`,
        ),
    ),
    ...(
      [
        [{ method: "POST" }, { method: "a connection has no method" }],
        [{ headers: { a: "b" } }, { headers: "a connection has no headers" }],
        [{ http_version: "2" }, { http_version: "a connection has no version of HTTP" }],
        [{ body: "a" }, { body: "a connection has no body" }],
        [{ body_size: 1 }, { body_size: "a connection has no body" }],
        [{ server_name: "a.example" }, { server_name: "a connection without TLS has no server name" }],
        [{ client_port: 0 }, { client_port: "value should be between 1 and 65535" }],
      ] as const
    ).map(([member, fields]) =>
      invalid(
        { url: "tcp://10.0.0.7:9100", ...member },
        fields,
        `must not have ${JSON.stringify(member)} for a connection`,
      ),
    ),
    invalid(
      { url, client_port: 1 },
      { client_port: "only connections (tcp://, tls://) are described with a client port" },
      "must not have a port of the client for a request",
    ),
    invalid({ url, size: 0 }, { size: "value should be between 1 and 1000" }, "must ask for at least one candidate"),
    invalid(
      { url: `${url}${"x".repeat(8192)}` },
      { url: "length must be at most 8192" },
      "must not have a URL of more than 8,192 characters",
    ),
    { does: "must not be a form", ask: "POST /explain", form: `url=${url}`, status: 415 },
    { does: "must be JSON", ask: "POST /explain", json: "{", status: 400, body: { message: "Cannot parse JSON body" } },
    { does: "must not be a list", ask: "POST /explain", json: [url], status: 400 },
    { does: "must have at most 64 KiB", ask: "POST /explain", json: { url, body: "x".repeat(65_536) }, status: 413 },
    { does: "must be sent with POST", ask: "GET /explain", status: 405 },
  ],
};
