/** Headers to the upstream and to the client (docs/reference/kong-compatibility.md#headers). */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sendRaw, sendRequest } from "./client.ts";
import { startHttp2 } from "./http2.ts";
import { requestHttp2 } from "./http2-client.ts";
import { type Engine, type RigOptions, startRig } from "./proxy-rig.ts";

/** Flat headers as pairs, in order. */
const pairs = (flat: readonly string[]): readonly (readonly [string, string])[] =>
  flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1] ?? ""] as const] : []));

/** The request as the upstream received it, sent back in its response body. */
interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly raw: readonly (readonly [string, string])[];
}

const echo: RigOptions["upstream"] = (request, response) => {
  request.resume().on("end", () => {
    const { method, url, headers, rawHeaders } = request;
    response.end(JSON.stringify({ method, url, headers, raw: pairs(rawHeaders) }));
  });
};

/** Headers that upstreams trust because the gateway sets or removes them. */
const vouched = [
  ...["X-Consumer-ID", "X-Consumer-Username", "X-Consumer-Tags", "X-Credential-Identifier", "X-Anonymous-Consumer"],
  "X-Authenticated-Groups",
  ...["X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Forwarded-Port", "X-Forwarded-Path"],
  ...["X-Forwarded-Prefix", "X-Real-IP", "X-Sluice-Request-Id", "Proxy-Connection", "X-Gateway-Secret"],
];

const vouching: RigOptions = { service: { upstream_headers: [{ name: "X-Gateway-Secret", value: "the-secret" }] } };

const forgedIn = ({ headers }: Seen): readonly string[] =>
  Object.keys(headers).filter((name) => headers[name] === "forged");

export function headerSuite(engine: Engine): void {
  const seenBy = async (
    test: Parameters<typeof startRig>[0],
    { rig = {}, ...sent }: Parameters<typeof sendRequest>[1] & { readonly rig?: RigOptions },
  ): Promise<Seen & { readonly port: number }> => {
    const { port } = await startRig(test, engine, { upstream: echo, ...rig });
    const { body } = await sendRequest(port, sent);
    return { ...JSON.parse(body), port };
  };

  describe(`headers to the upstream: the ${engine.name} engine`, () => {
    it("forwards method, path, query and the client's headers in their case and order", async (test) => {
      const seen = await seenBy(test, {
        method: "PURGE",
        path: "/a%20b?x=%20&x",
        headers: ["Host", "example.com", "X-One", "1", "x-TWO", "2", "X-One", "3"],
      });
      assert.equal(seen.method, "PURGE");
      assert.equal(seen.url, "/a%20b?x=%20&x");
      const own = seen.raw.filter(([name]) => /^x-(one|two)$/i.test(name));
      assert.deepEqual(own, [
        ["X-One", "1"],
        ["x-TWO", "2"],
        ["X-One", "3"],
      ]);
    });

    it("sends the service's host, with its port because the port is not the protocol's default", async (test) => {
      const seen = await seenBy(test, { headers: { Host: "client.example" } });
      assert.match(seen.headers.host ?? "", /^127\.0\.0\.1:\d+$/);
    });

    it("sends the client's host when the route preserves it", async (test) => {
      const seen = await seenBy(test, {
        headers: { Host: "Client.example:81" },
        rig: { route: { preserve_host: true } },
      });
      assert.equal(seen.headers.host, "client.example:81");
    });

    it("forwards the client's address and the request's host, and does not trust an untrusted client's own values", async (test) => {
      const seen = await seenBy(test, {
        path: "/users/7?x",
        headers: {
          Host: "api.example:81",
          "X-Forwarded-For": "6.6.6.6",
          "X-Forwarded-Proto": "https",
          "X-Forwarded-Host": "evil.example",
          "X-Forwarded-Port": "1",
          "X-Forwarded-Path": "/evil",
          "X-Forwarded-Prefix": "/evil",
          X_Forwarded_Proto: "https",
          "X-Real-IP": "6.6.6.6",
        },
        rig: { route: { paths: ["/users"] } },
      });
      assert.deepEqual(pick(seen, /^x[-_](forwarded|real)/), {
        "x-forwarded-for": "6.6.6.6, 127.0.0.1",
        "x-forwarded-proto": "http",
        "x-forwarded-host": "api.example",
        "x-forwarded-port": String(seen.port),
        "x-forwarded-path": "/users/7",
        "x-forwarded-prefix": "/users",
        "x-real-ip": "127.0.0.1",
      });
    });

    it("trusts the headers of a trusted proxy in front", async (test) => {
      const seen = await seenBy(test, {
        headers: {
          "X-Forwarded-For": "6.6.6.6",
          "X-Forwarded-Proto": "https",
          "X-Forwarded-Host": "public.example",
          "X-Forwarded-Port": "443",
          "X-Forwarded-Path": "/before",
          "X-Forwarded-Prefix": "/pre",
          "X-Real-IP": "6.6.6.6",
        },
        rig: { settings: { trustedIps: ["127.0.0.0/8"] } },
      });
      assert.deepEqual(pick(seen, /^x-(forwarded|real)/), {
        "x-forwarded-for": "6.6.6.6, 127.0.0.1",
        "x-forwarded-proto": "https",
        "x-forwarded-host": "public.example",
        "x-forwarded-port": "443",
        "x-forwarded-path": "/before",
        "x-forwarded-prefix": "/pre",
        "x-real-ip": "6.6.6.6",
      });
    });

    for (const [says, forwarded, client] of [
      ["with a port", ["6.6.6.6", "80.7.7.7:1234"], "80.7.7.7"],
      ["that is IPv6 with a port", ["6.6.6.6", "[2001:DB8:0::7]:1234"], "2001:db8::7"],
      ["mapped into IPv6", ["6.6.6.6", "::FFFF:80.7.7.7"], "80.7.7.7"],
      ["before a trusted proxy", ["6.6.6.6", "80.7.7.7, 127.0.0.2"], "80.7.7.7"],
      ["that is invalid", ["6.6.6.6", "unknown"], "127.0.0.1"],
      ["that is invalid before a trusted proxy", ["6.6.6.6", "unknown, 127.0.0.2:80"], "127.0.0.2"],
      ["that is empty", ["6.6.6.6", ""], "127.0.0.1"],
    ] as const) {
      const settings = { trustedIps: ["127.0.0.0/8"], realIpHeader: "x-forwarded-for" } as const;
      it(`reads the client's address from the entries that trusted proxies append to X-Forwarded-For: an address ${says}`, async (test) => {
        const { port } = await startRig(test, engine, { upstream: echo, settings });
        const both = forwarded.join(", ");
        // Each value in a header line of its own: some proxies add a line.
        const separate = ["Host", "a", ...forwarded.flatMap((value) => ["X-Forwarded-For", value])];
        for (const headers of [["Host", "a", "X-Forwarded-For", both], separate]) {
          const { body } = await sendRequest(port, { headers });
          assert.equal(JSON.parse(body).headers["x-real-ip"], client);
        }
        if (engine.name !== "http1") return;
        const { session } = await startHttp2(test, engine, { upstream: echo, settings });
        const { body } = await requestHttp2(session, { headers: { "x-forwarded-for": both.trim() } });
        assert.equal(JSON.parse(body.toString()).headers["x-real-ip"], client);
      });
    }

    it("sends no X-Forwarded-Prefix when only / or no prefix was stripped", async (test) => {
      const whole = await seenBy(test, { path: "/users" });
      const kept = await seenBy(test, { path: "/users", rig: { route: { paths: ["/users"], strip_path: false } } });
      assert.equal(whole.headers["x-forwarded-prefix"], undefined);
      assert.equal(kept.headers["x-forwarded-prefix"], undefined);
    });

    it("forwards the stripped prefix in URL encoding, so that it cannot break the header", async (test) => {
      const paths = ["~/rx/[^/]+"];
      for (const [sent, expected] of [
        ["/rx/%0d%0aEvil:1", "/rx/%0D%0AEvil:1"],
        ["/rx/%C4%8D%C4%8AEvil:1", "/rx/%C4%8D%C4%8AEvil:1"],
        ["/rx/a%00b", "/rx/a%00b"],
        ["/rx/%C3%BC%E6%97%A5", "/rx/%C3%BC%E6%97%A5"],
        ["/rx/a%20b%ff", "/rx/a%20b%FF"],
      ]) {
        const seen = await seenBy(test, { path: `${sent}/x`, rig: { route: { paths } } });
        assert.equal(seen.headers["x-forwarded-prefix"], expected);
        assert.equal(seen.headers.evil, undefined);
      }
    });

    it("removes hop-by-hop headers of the client, and headers that its Connection header names", async (test) => {
      const seen = await seenBy(test, {
        headers: {
          Connection: "close, X-Hop",
          "Keep-Alive": "timeout=9",
          "X-Hop": "1",
          Proxy: "http://evil",
          "Proxy-Connection": "keep-alive",
          Upgrade: "h2c",
          Expect: "100-continue",
        },
      });
      const left = Object.keys(seen.headers).filter((name) => /hop|^proxy|upgrade|keep-alive|expect/.test(name));
      assert.deepEqual(left, []);
      assert.equal(seen.headers.connection, "keep-alive");
    });

    it("sends TE: trailers only if the client accepts trailers", async (test) => {
      assert.equal((await seenBy(test, { headers: { TE: "gzip, trailers" } })).headers.te, "trailers");
      assert.equal((await seenBy(test, { headers: { TE: "gzip" } })).headers.te, undefined);
    });

    it("also lists TE in Connection when it sends TE", async (test) => {
      // undici, which @fastify/reply-from uses, accepts no options in Connection but its own.
      if (engine.name !== "http1") return;
      assert.equal((await seenBy(test, { headers: { TE: "trailers" } })).headers.connection, "keep-alive, TE");
      assert.equal((await seenBy(test, {})).headers.connection, "keep-alive");
    });

    it("removes identity headers that a client claims, in any spelling that an upstream may accept", async (test) => {
      const seen = await seenBy(test, {
        headers: {
          "X-Consumer-ID": "1",
          "x-consumer-username": "admin",
          "X-Consumer-Custom-ID": "1",
          X_Consumer_Username: "admin",
          "X-Credential-Identifier": "1",
          "X-Anonymous-Consumer": "true",
          "X-Authenticated-Groups": "admins",
        },
      });
      assert.deepEqual(pick(seen, /consumer|credential|authenticated/), {});
    });

    for (const separator of "!#$%&'*+.^_`|~") {
      it(`removes a client's spellings of the gateway's own headers with ${separator} in place of -`, async (test) => {
        const forged = vouched.map((name) => name.replaceAll("-", separator));
        const headers = Object.fromEntries(forged.map((name) => [name, "forged"]));
        const seen = await seenBy(test, { headers, rig: vouching });
        assert.deepEqual(forgedIn(seen), []);
        if (engine.name !== "http1") return;
        const { session } = await startHttp2(test, engine, { upstream: echo, ...vouching });
        const lower = Object.fromEntries(forged.map((name) => [name.toLowerCase(), "forged"]));
        assert.deepEqual(forgedIn(JSON.parse((await requestHttp2(session, { headers: lower })).body.toString())), []);
      });
    }

    it("forwards headers whose names resemble identity headers or have characters other than letters and dashes", async (test) => {
      const seen = await seenBy(test, { headers: { "X.Own_Name": "1", "X-Consumers": "2", "X~Consumer": "3" } });
      assert.deepEqual(pick(seen, /^x[.~-](own|consumer)/), {
        "x.own_name": "1",
        "x-consumers": "2",
        "x~consumer": "3",
      });
    });

    it("sends headers that plugins set, and removes headers that plugins remove", async (test) => {
      const seen = await seenBy(test, {
        path: "/?apikey=s&a=1&%61pikey=t",
        headers: { Apikey: "secret", "X-Consumer-Username": "admin" },
        rig: {
          plugins: {
            "key-auth": {
              access(exchange) {
                exchange.upstreamHeaders.set("X-Consumer-Username", "demo");
                exchange.upstreamHeaders.remove("apikey");
                exchange.upstreamHeaders.append("X-List", "a");
                exchange.upstreamHeaders.append("X-List", "b");
                exchange.removeQuery(["apikey"]);
                return undefined;
              },
            },
          },
        },
      });
      assert.equal(seen.headers["x-consumer-username"], "demo");
      assert.equal(seen.headers.apikey, undefined);
      assert.equal(seen.headers["x-list"], "a, b");
      assert.equal(seen.url, "/?a=1");
    });

    it("adds itself to Via and sends the request's id", async (test) => {
      const seen = await seenBy(test, { headers: { Via: "1.0 cache", "X-Sluice-Request-Id": "forged" } });
      assert.equal(seen.headers.via, "1.0 cache, 1.1 sluice/1.2.3");
      assert.match(seen.headers["x-sluice-request-id"] ?? "", /^[0-9a-f]{32}$/);
    });

    it("forwards only the path of an absolute target", async (test) => {
      const { port } = await startRig(test, engine, { upstream: echo, route: { hosts: ["a.example"], paths: null } });
      const text = "GET http://a.example/x HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n";
      assert.match(await sendRaw(test, port, text), /^HTTP\/1\.1 200 .*"url":"\/x"/s);
    });
  });

  describe(`headers to the client: the ${engine.name} engine`, () => {
    const upstream: RigOptions["upstream"] = (_request, response) => {
      response.writeHead(201, "Made", [
        ...["Server", "upstream/1", "Set-Cookie", "a=1", "Set-Cookie", "b=2", "X-Case", "Kept", "Via", "1.1 cache"],
        ...["Connection", "keep-alive, X-Hop", "X-Hop", "1", "Keep-Alive", "timeout=9", "X-Sluice-Request-Id", "other"],
        ...["Content-Length", "2"],
      ]);
      response.end("ok");
    };

    it("forwards the upstream's headers and adds id, latencies and Via", async (test) => {
      const { port } = await startRig(test, engine, { upstream });
      const { status, rawHeaders, headers } = await sendRequest(port);
      assert.equal(status, 201);
      assert.deepEqual(
        pairs(rawHeaders).filter(([name]) => /^(server|set-cookie|x-case)$/i.test(name)),
        [
          ["Server", "upstream/1"],
          ["Set-Cookie", "a=1"],
          ["Set-Cookie", "b=2"],
          ["X-Case", "Kept"],
        ],
      );
      assert.equal(headers.via, "1.1 cache, 1.1 sluice/1.2.3");
      assert.match(String(headers["x-sluice-request-id"]), /^[0-9a-f]{32}$/);
      assert.match(String(headers["x-sluice-upstream-latency"]), /^\d+$/);
      assert.match(String(headers["x-sluice-proxy-latency"]), /^\d+$/);
      assert.equal(headers["x-sluice-response-latency"], undefined);
    });

    it("removes hop-by-hop headers of the upstream, and headers that its Connection header names", async (test) => {
      const { port } = await startRig(test, engine, { upstream });
      const { headers } = await sendRequest(port);
      assert.equal(headers["x-hop"], undefined);
      assert.equal(headers["keep-alive"], undefined);
      assert.equal(headers.connection, "close", "the client asked to close the connection");
    });

    it("sends Server and X-Sluice-Response-Latency with its own responses", async (test) => {
      const { port } = await startRig(test, engine, { route: { paths: ["/other"] } });
      const { headers } = await sendRequest(port);
      assert.equal(headers.server, "sluice/1.2.3");
      assert.match(String(headers["x-sluice-response-latency"]), /^\d+$/);
      assert.match(String(headers["x-sluice-request-id"]), /^[0-9a-f]{32}$/);
      assert.equal(headers["x-sluice-proxy-latency"], undefined);
    });

    it("uses Kong's header names if the naming is set to kong", async (test) => {
      const { port } = await startRig(test, engine, { upstream, settings: { naming: "kong" } });
      const { headers } = await sendRequest(port);
      assert.match(String(headers["x-kong-request-id"]), /^[0-9a-f]{32}$/);
      assert.match(String(headers["x-kong-upstream-latency"]), /^\d+$/);
    });

    it("omits its own Via and the latencies if settings disable them", async (test) => {
      const settings = { serverTokens: false, latencyTokens: false };
      const { port } = await startRig(test, engine, { upstream, settings });
      const { headers } = await sendRequest(port);
      assert.equal(headers.via, "1.1 cache");
      assert.equal(headers["x-sluice-upstream-latency"], undefined);
    });

    it("applies the plugins' edits to responses of the upstream and of the gateway", async (test) => {
      const plugins: RigOptions["plugins"] = {
        cors: {
          access: ({ request }) => (request.path === "/own" ? { status: 418, message: "short" } : undefined),
          responseHeaders(exchange) {
            exchange.responseHeaders.set("X-Case", `${exchange.source} ${exchange.status}`);
            exchange.responseHeaders.append("Set-Cookie", "c=3");
            exchange.responseHeaders.remove("Server");
          },
        },
      };
      const { port } = await startRig(test, engine, { upstream, plugins });
      const forwarded = await sendRequest(port);
      assert.equal(forwarded.headers["x-case"], "service 201");
      assert.deepEqual(forwarded.headers["set-cookie"], ["a=1", "b=2", "c=3"]);
      assert.equal(forwarded.headers.server, undefined);
      const own = await sendRequest(port, { path: "/own" });
      assert.equal(own.headers["x-case"], "gateway 418");
      assert.deepEqual(own.headers["set-cookie"], ["c=3"]);
      assert.ok(own.rawHeaders.includes("X-Case"), "the name keeps the case in which it was set");
    });
  });
}

const pick = ({ headers }: Seen, names: RegExp): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => names.test(name)));
