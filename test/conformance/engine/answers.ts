/** Responses that the gateway generates, with Kong's statuses and texts. */
import assert from "node:assert/strict";
import type { RequestListener } from "node:http";
import { describe, it } from "node:test";
import type { PluginPhases } from "@sluice/plugin-sdk";
import { waitFor } from "../../../tools/process/index.ts";
import { pluginInstance } from "../../plugins/fake-exchange.ts";
import { withConfigDefaults } from "../../plugins/filled-configs.ts";
import { sendRaw, sendRequest } from "./client.ts";
import { type Engine, type RigOptions, startRig } from "./proxy-rig.ts";

const JSON_TYPE = "application/json; charset=utf-8";

const circular: Record<string, unknown> = {};
circular.self = circular;

/** What a plugin must not answer with, but can: TypeScript does not check packages in JavaScript. */
const invalidAnswers: readonly (readonly [what: string, answer: unknown])[] = [
  ["an interim status, after which the client would wait", { status: 100, body: "" }],
  ["a status above 599, which is invalid", { status: 600, body: "" }],
  ["a status that is a text", { status: "200" }],
  ["no status", { body: "hello" }],
  ["a text", "hello"],
  ["true", true],
  ["a Response", new Response("hello")],
  ["a body that is a number", { status: 200, body: 5 }],
  ["a body that is a Uint8Array", { status: 200, body: new Uint8Array(5) }],
  ["a header that is a number", { status: 200, headers: { "Retry-After": 5 } }],
  ["a header whose name has a line break", { status: 200, headers: { "X-A: 1\r\nX-B": "2" } }],
  ["kept headers that are no list", { status: 200, keptHeaders: { "X-A": "1" }, body: "" }],
  ["a message that is a number", { status: 200, message: 5 }],
  ["JSON that contains itself", { status: 200, json: circular }],
];

const nullMembers: readonly (readonly [what: string, members: object, body: string])[] = [
  ["a body", { body: null, message: "stop" }, '"message":"stop"'],
  ["JSON", { json: null }, ""],
  ["JSON beside a message", { json: null, message: "stop" }, '"message":"stop"'],
  ["a message", { message: null }, ""],
  ["a reason", { reason: null, body: "hello" }, "hello"],
  ["an object of headers", { headers: null, body: "hello" }, "hello"],
  ["a list of kept headers", { keptHeaders: null, body: "hello" }, "hello"],
  ["a body with kept headers", { keptHeaders: ["X-A", "1"], body: null }, ""],
];

export function answerSuite(engine: Engine): void {
  describe(`responses of the gateway itself: the ${engine.name} engine`, () => {
    const cases: readonly (readonly [says: string, rig: RigOptions, status: number, message: string])[] = [
      ["no route matches", { route: { paths: ["/other"] } }, 404, "no Route matched with those values"],
      ["the route has no service", { route: { service: null } }, 503, "no Service found with those values"],
      ["the service is disabled", { service: { enabled: false } }, 404, "no Route matched with those values"],
      ["the service has no endpoint", { endpoints: [] }, 503, "failure to get a peer from the ring-balancer"],
    ];
    for (const [says, rig, status, message] of cases) {
      it(`answers ${status} when ${says}`, async (test) => {
        const { port } = await startRig(test, engine, rig);
        const answer = await sendRequest(port);
        assert.equal(answer.status, status);
        assert.equal(answer.headers["content-type"], JSON_TYPE);
        const body = JSON.parse(answer.body);
        assert.deepEqual(body, { message, request_id: answer.headers["x-sluice-request-id"] });
      });
    }

    // The annotation app-root of ingress-nginx.
    it("redirects only / to a path of the same host, if the route has the path ~/$ and the plugin redirect", async (test) => {
      const config = withConfigDefaults("redirect", { location: "/app1", status_code: 302 });
      const { port } = await startRig(test, engine, {
        route: { paths: ["~/$"], service: null },
        plugins: { redirect: pluginInstance("redirect", config) },
      });
      for (const [path, status, location] of [
        ["/", 302, "/app1"],
        ["/?x=1", 302, "/app1"],
        ["//", 302, "/app1"],
        ["/app1", 404, undefined],
      ] as const) {
        const answer = await sendRequest(port, { path });
        assert.deepEqual([answer.status, answer.headers.location], [status, location], path);
      }
    });

    const secret = "Route team/r2: spec.serviceRef.name: there is no Service payroll";
    const closed = { _sluice: { unavailable: secret } };
    const answering = {
      access: () => ({ status: 500, message: "An unexpected error occurred", reason: secret }),
    };
    const reasons: readonly (readonly [says: string, rig: RigOptions, status: number, message: string])[] = [
      ["the route is closed", { route: closed }, 503, "This route is currently unavailable"],
      ["a plugin cannot reach a decision", { plugins: { "key-auth": answering } }, 500, "An unexpected error occurred"],
      [
        "a plugin throws",
        {
          plugins: {
            "key-auth": {
              access() {
                throw new Error(secret);
              },
            },
          },
        },
        500,
        "An unexpected error occurred",
      ],
    ];
    for (const [says, rig, status, message] of reasons) {
      it(`logs the reason once with the request's id, and shows the client the id but not the reason, when ${says}`, async (test) => {
        const { port, log } = await startRig(test, engine, rig);
        for (const accept of ["application/json", "text/html", "text/plain", "application/xml"]) {
          const answer = await sendRequest(port, { headers: { Accept: accept } });
          assert.equal(answer.status, status);
          assert.ok(answer.body.includes(message), answer.body);
          assert.ok(answer.body.includes(String(answer.headers["x-sluice-request-id"])));
          for (const part of [answer.body, ...answer.rawHeaders])
            assert.doesNotMatch(part, /team|r2|payroll|serviceRef/);
        }
        assert.equal(log.length, 1, "a flood of requests does not flood the log");
        const [{ details } = assert.fail()] = log;
        const { route, requestId, reason, err } = details as Record<string, unknown>;
        assert.deepEqual([route, reason ?? (err as Error).message], ["route", secret]);
        assert.match(String(requestId), /^[0-9a-f]{32}$/);
      });
    }

    const accepts: readonly (readonly [accept: string | undefined, type: string])[] = [
      [undefined, JSON_TYPE],
      ["*/*", JSON_TYPE],
      ["image/png", JSON_TYPE],
      ["text/plain", "text/plain; charset=utf-8"],
      ["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "text/html; charset=utf-8"],
      ["text/html;q=0.1, application/xml;q=0.9", "application/xml; charset=utf-8"],
      ["text/html;q=0, application/json", JSON_TYPE],
    ];
    for (const [accept, type] of accepts) {
      it(`answers in ${type} when the client accepts ${accept ?? "nothing specific"}`, async (test) => {
        const { port } = await startRig(test, engine, { route: { paths: ["/other"] } });
        const answer = await sendRequest(port, { headers: accept === undefined ? {} : { Accept: accept } });
        assert.equal(answer.headers["content-type"], type);
        assert.match(answer.body, /no Route matched with those values/);
        assert.ok(answer.body.includes(String(answer.headers["x-sluice-request-id"])));
      });
    }

    it("runs no plugin for a request that matches no route", async (test) => {
      const ran: string[] = [];
      const phases = {
        access: () => void ran.push("access"),
        responseHeaders: () => void ran.push("responseHeaders"),
        log: () => void ran.push("log"),
      };
      const { port } = await startRig(test, engine, { route: { paths: ["/routed"] }, plugins: { "http-log": phases } });
      assert.equal((await sendRequest(port, { path: "/other" })).status, 404);
      assert.deepEqual(ran, []);
      assert.notEqual((await sendRequest(port, { path: "/routed" })).status, 404);
      assert.deepEqual(ran.slice(0, 2), ["access", "responseHeaders"]);
    });

    it("answers HEAD with a head only", async (test) => {
      const { port } = await startRig(test, engine, { route: { paths: ["/other"] } });
      const answer = await sendRequest(port, { method: "HEAD" });
      assert.equal(answer.status, 404);
      assert.equal(answer.body, "");
      assert.ok(Number(answer.headers["content-length"]) > 0);
    });

    it("keeps the connection after an error response", async (test) => {
      const { port } = await startRig(test, engine, { route: { paths: ["/other"] } });
      const lost = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
      const last = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
      const all = await sendRaw(test, port, lost + last);
      assert.equal(all.match(/HTTP\/1\.1 404 Not Found/g)?.length, 2);
    });

    for (const status of [204, 304]) {
      it(`sends no body with ${status}, because the client would read the body as the next response`, async (test) => {
        const answering = { access: () => ({ status, body: "HTTP/1.1 200 OK" }) };
        const { port } = await startRig(test, engine, { plugins: { "request-termination": answering } });
        const all = await sendRaw(test, port, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        assert.ok(all.startsWith(`HTTP/1.1 ${status} `), all);
        assert.doesNotMatch(all, /content-length|200 OK/i);
      });
    }

    for (const [what, answer] of invalidAnswers)
      for (const phase of ["access", "response", "responseBody"] as const)
        it(`answers 500 if a plugin returns ${what} in the phase ${phase}, and serves the next request`, async (test) => {
          let isBroken = true;
          const answering = { [phase]: () => (isBroken ? answer : undefined) } as PluginPhases;
          const upstream: RequestListener = (_request, response) => void response.end("hello");
          const { port } = await startRig(test, engine, { upstream, plugins: { "request-termination": answering } });
          assert.equal((await sendRequest(port)).status, 500);
          isBroken = false;
          assert.equal((await sendRequest(port)).status, 200);
        });

    for (const phase of ["access", "response"] as const)
      it(`answers 500 if a plugin returns null instead of undefined in the phase ${phase}`, async (test) => {
        const answering = { [phase]: async () => null } as PluginPhases;
        const upstream: RequestListener = (_request, response) => void response.end("hello");
        const { port } = await startRig(test, engine, { upstream, plugins: { "request-termination": answering } });
        for (const status of [500, 500]) assert.equal((await sendRequest(port)).status, status);
      });

    for (const [what, members, body] of nullMembers)
      it(`takes ${what} that is null for absent, as packages in JavaScript may write it`, async (test) => {
        const answering = { access: () => ({ status: 403, ...members }) } as unknown as PluginPhases;
        const { port } = await startRig(test, engine, { plugins: { "request-termination": answering } });
        const response = await sendRequest(port);
        assert.equal(response.status, 403);
        assert.ok(body === "" ? response.body === "" : response.body.includes(body), response.body);
      });

    it("sends JSON that is false", async (test) => {
      const answering = { access: () => ({ status: 403, json: false }) } as unknown as PluginPhases;
      const { port } = await startRig(test, engine, { plugins: { "request-termination": answering } });
      assert.equal((await sendRequest(port)).body, "false");
    });

    for (const phase of ["responseHeaders", "log"] as const)
      it(`logs the rejection of an asynchronous phase ${phase}, which nothing awaits, and serves the next request`, async (test) => {
        const rejecting = { [phase]: () => Promise.reject(new Error("broken")) } as PluginPhases;
        const upstream: RequestListener = (_request, response) => void response.end("hello");
        const { port, log } = await startRig(test, engine, { upstream, plugins: { "request-termination": rejecting } });
        for (const status of [200, 200]) assert.equal((await sendRequest(port)).status, status);
        await waitFor(() => log.some(({ message }) => message === "a plugin failed"), { what: "the line of the log" });
      });

    it("sends no line breaks in the headers of a plugin's answer, which would begin other headers", async (test) => {
      const answering = { access: () => ({ status: 200, headers: { "X-A": "a\r\nX-B: b", "X-C": ["c\nX-D: d"] } }) };
      const { port } = await startRig(test, engine, { plugins: { "request-termination": answering } });
      const { headers } = await sendRequest(port);
      assert.deepEqual(
        [headers["x-a"], headers["x-b"], headers["x-c"], headers["x-d"]],
        ["aX-B: b", undefined, "cX-D: d", undefined],
      );
    });

    for (const protocol of ["tcp", "tls", "tls_passthrough"] as const)
      it(`answers 503 if the protocol of the service is ${protocol}, and does not call it`, async (test) => {
        const { port } = await startRig(test, engine, { service: { protocol } });
        assert.equal((await sendRequest(port)).status, 503);
      });

    it("answers 426 for plain http when the route requires https", async (test) => {
      const { port } = await startRig(test, engine, { route: { protocols: ["https"] } });
      const answer = await sendRequest(port);
      assert.equal(answer.status, 426);
      assert.equal(JSON.parse(answer.body).message, "Please use HTTPS protocol");
      assert.equal(answer.headers.upgrade, "TLS/1.2, HTTP/1.1");
      assert.match(String(answer.headers.connection), /upgrade/i);
    });

    for (const status of [301, 302, 307, 308] as const) {
      it(`redirects to https with ${status} if the route is configured to redirect`, async (test) => {
        const route = { protocols: ["https" as const], https_redirect_status_code: status };
        const { port } = await startRig(test, engine, { route });
        const answer = await sendRequest(port, { path: "/a%20b?c", headers: { Host: "example.com:8000" } });
        assert.equal(answer.status, status);
        assert.equal(answer.headers.location, "https://example.com/a%20b?c");
      });
    }

    it("accepts a request that arrived over https at a trusted proxy", async (test) => {
      const { port } = await startRig(test, engine, {
        upstream: (_request, response) => response.end("ok"),
        route: { protocols: ["https"] },
        settings: { trustedIps: ["127.0.0.1"] },
      });
      assert.equal((await sendRequest(port, { headers: { "X-Forwarded-Proto": "https" } })).body, "ok");
    });

    it("answers 415 to a request that is not gRPC on a gRPC route, and 426 to a gRPC call over HTTP/1.1", async (test) => {
      const { port } = await startRig(test, engine, { route: { protocols: ["grpc"] } });
      const plain = await sendRequest(port);
      assert.equal(plain.status, 415);
      assert.equal(JSON.parse(plain.body).message, "Non-gRPC request matched gRPC route");
      const old = await sendRequest(port, {
        method: "POST",
        headers: { "Content-Type": "application/grpc" },
        body: "x",
      });
      assert.equal(old.status, 426);
      assert.equal(old.headers["grpc-message"], "Please use HTTP2 protocol");
    });

    const broken: readonly (readonly [says: string, text: string, status: number, message: string])[] = [
      [
        "a head that is too large",
        `GET / HTTP/1.1\r\nX: ${"a".repeat(20_000)}\r\n\r\n`,
        431,
        "Request header or cookie",
      ],
      ["an invalid head", "NONSENSE\r\n\r\n", 400, "Bad request"],
      [
        "two Content-Length headers",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        400,
        "Bad request",
      ],
      [
        "both a Content-Length and chunks",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
        "Bad request",
      ],
      [
        "an unknown transfer coding",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        501,
        "Not implemented",
      ],
      [
        "chunks in HTTP/1.0",
        "POST / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
        "Bad request",
      ],
      ["a version other than HTTP/1.x", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505, "HTTP version not supported"],
      ["a request of HTTP/0.9", "GET /\r\n\r\n", 505, "HTTP version not supported"],
      ["a request without a host", "GET / HTTP/1.1\r\n\r\n", 400, "Bad request"],
      ["an invalid host", "GET / HTTP/1.1\r\nHost: a b/c\r\n\r\n", 400, "Bad request"],
      ["a host with userinfo", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", 400, "Bad request"],
      ["a CONNECT request", "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", 400, "Bad request"],
      ["two Host headers", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "Bad request"],
      ["a target that is not a path", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 400, "Bad request"],
    ];
    for (const [says, text, status, message] of broken) {
      it(`refuses ${says} with ${status} and closes the connection`, async (test) => {
        const { port } = await startRig(test, engine, { upstream: (_request, response) => response.end("forwarded") });
        const all = await sendRaw(test, port, text);
        assert.ok(all.startsWith(`HTTP/1.1 ${status} `), all);
        assert.ok(all.includes(message), all);
        assert.match(all, /X-Sluice-Request-Id: [0-9a-f]{32}/);
      });
    }

    it("answers 408 and closes the connection when a head does not arrive in time", async (test) => {
      const { port } = await startRig(test, engine, { settings: { headersTimeout: 200 } });
      assert.match(await sendRaw(test, port, "GET / HTTP/1.1\r\nHost: a\r\n"), /^HTTP\/1\.1 408 .*Request timeout/s);
    });
  });
}
