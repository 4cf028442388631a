import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import {
  type CollectorAnswer,
  refusingPort,
  startLogCollector,
  startLogging,
} from "../../../test/plugins/log-servers.ts";

/** An instance of http-log to which these records have been passed. */
function logRecords(test: TestContext, records: readonly string[], config: Readonly<Record<string, unknown>>) {
  const instance = startLogging(test, "http-log", config);
  for (const logRecord of records) instance.add({ logRecord });
  return instance;
}

describe("http-log", () => {
  it("sends each record in a separate request over one persistent connection", async (context) => {
    const { received, connections, origin } = await startLogCollector(context);
    const config = { http_endpoint: `http://${origin}/log?token=t`, headers: { "X-Key": "k" } };
    const { stop } = logRecords(context, ['{"a":1}', '{"b":2}'], config);
    await stop();
    assert.deepEqual(
      received.map(({ method, url, body }) => [method, url, body]),
      [
        ["POST", "/log?token=t", '{"a":1}'],
        ["POST", "/log?token=t", '{"b":2}'],
      ],
    );
    const { headers } = received[0] ?? {};
    assert.deepEqual(
      [headers?.["content-type"], headers?.["content-length"], headers?.["x-key"], headers?.host],
      ["application/json", "7", "k", origin],
    );
    assert.equal(connections(), 1);
  });

  it("sends a list of records if a batch may have several", async (context) => {
    const { received, origin } = await startLogCollector(context);
    const config = {
      http_endpoint: `http://${origin}`,
      method: "PUT",
      content_type: "application/json; charset=utf-8",
      queue: { max_batch_size: 2 },
    };
    const { stop } = logRecords(context, ["{}", "[]", "1"], config);
    await stop();
    assert.deepEqual(
      received.map(({ method, headers, body }) => [method, headers["content-type"], body]),
      [
        ["PUT", "application/json; charset=utf-8", "[{},[]]"],
        ["PUT", "application/json; charset=utf-8", "[1]"],
      ],
    );
  });

  it("sends user information of the URL as basic authentication", async (context) => {
    const { received, origin } = await startLogCollector(context);
    const { stop } = logRecords(context, ["{}"], { http_endpoint: `http://u:p%40ss@${origin}/` });
    await stop();
    assert.equal(received[0]?.headers.authorization, `Basic ${Buffer.from("u:p@ss").toString("base64")}`);
  });

  it("resends a record until the log server accepts it, and logs the first failure and the recovery", async (context) => {
    const { received, origin } = await startLogCollector(context, (response, count) => {
      response.statusCode = count < 3 ? 500 : 204;
      response.end("an error");
    });
    const { log, stop, dropped } = logRecords(context, ["{}"], {
      http_endpoint: `http://${origin}`,
      queue: { initial_retry_delay: 0.001 },
    });
    while (log.length < 2) await new Promise(setImmediate);
    await stop();
    assert.equal(received.length, 3);
    assert.equal(await dropped(), 0);
    assert.deepEqual(
      log.map((line) => ({ ...line, instance: undefined })),
      [
        {
          message: "entries could not be delivered",
          reason: "the log server answered with the status 500",
          plugin: "http-log",
          instance: undefined,
        },
        { message: "the delivery of entries works again", dropped: 0, plugin: "http-log", instance: undefined },
      ],
    );
  });

  const failing: readonly (readonly [what: string, answer: CollectorAnswer, reason: string, config?: object])[] = [
    ["hangs", () => {}, "no complete response within 50 ms", { timeout: 50 }],
    [
      "closes the connection halfway through its response",
      (response) => response.writeHead(200, { "Content-Length": 9 }).write("x", () => response.destroy()),
      "the server closed the connection",
    ],
    [
      "never ends its response",
      (response) => response.writeHead(200).write("x"),
      "no complete response within 50 ms",
      { timeout: 50 },
    ],
    [
      "sends more than 1 MiB",
      (response) => response.end("x".repeat(1024 * 1024 + 1)),
      "the response has more than 1048576 bytes",
    ],
  ];

  for (const [what, answer, reason, more] of failing) {
    it(`drops a record whose log server ${what}, and reveals no secret in the log`, async (context) => {
      const { origin } = await startLogCollector(context, answer);
      const { log, stop, dropped } = logRecords(context, ["{}"], {
        http_endpoint: `http://user:secret@${origin}/secret?secret`,
        headers: { "X-Key": "secret" },
        queue: { max_retry_time: -1 },
        ...more,
      });
      while (log.length < 2) await new Promise(setImmediate);
      await stop();
      assert.equal(await dropped(), 1);
      assert.match(JSON.stringify(log), new RegExp(`"reason":"http://${origin}: ${reason}"`));
      assert.doesNotMatch(JSON.stringify(log), /secret/);
    });
  }

  it("drops a record whose log server refuses connections", async (context) => {
    const { log, stop, dropped } = logRecords(context, ["{}"], {
      http_endpoint: `http://127.0.0.1:${await refusingPort()}`,
      queue: { max_retry_time: -1 },
    });
    await stop();
    assert.equal(await dropped(), 1);
    assert.match(JSON.stringify(log), /ECONNREFUSED/);
  });

  it("refuses a log server on an address that no setting allows", async (context) => {
    const { log, stop } = logRecords(context, ["{}"], {
      http_endpoint: "http://169.254.169.254/",
      queue: { max_retry_time: -1 },
    });
    await stop();
    assert.match(JSON.stringify(log), /169\.254\.169\.254:80 is a link-local address/);
  });

  const rejected: readonly (readonly [object, readonly string[]])[] = [
    [{}, ["http_endpoint: required field missing"]],
    [{ http_endpoint: "logs.test/x" }, ["http_endpoint: missing scheme in url"]],
    [{ http_endpoint: "http://" }, ["http_endpoint: missing host in url"]],
    [{ http_endpoint: "ftp://logs.test" }, ["http_endpoint: the scheme must be http or https"]],
    [{ method: "GET" }, ["method: expected one of: POST, PUT, PATCH"]],
    [{ headers: { HOST: "a" } }, ["headers: cannot contain 'Host' header"]],
    [{ headers: { "content-length": "1" } }, ["headers: cannot contain 'Content-Length' header"]],
    [
      { http_endpoint: "http://a:b@logs.test", headers: { authorization: "x" } },
      [": specifying both an 'Authorization' header and user info in 'http_endpoint' is not allowed"],
    ],
    [{ queue: { concurrency_limit: 2 } }, ["queue.concurrency_limit: expected one of: -1, 1"]],
    [{ queue: { max_batch_size: 0 } }, ["queue.max_batch_size: value should be between 1 and 1000000"]],
    [
      { custom_fields_by_lua: { a: "return 1" } },
      [
        "custom_fields_by_lua: Lua is not supported: change the fields in the log server, or in a plugin that calls " +
          "exchange.setLogField(name, value) in its access phase",
      ],
    ],
  ];

  for (const [config, violations] of rejected) {
    it(`refuses the config ${JSON.stringify(config)}`, () => {
      const needed = Object.keys(config).length === 0 ? {} : { http_endpoint: "http://logs.test" };
      assert.deepEqual(configViolations("http-log", { ...needed, ...config }), violations);
    });
  }

  it("accepts queue_size and flush_timeout in place of queue.max_batch_size and queue.max_coalescing_delay", () => {
    const { queue } = withConfigDefaults("http-log", {
      http_endpoint: "http://logs.test",
      queue_size: 7,
      flush_timeout: 3,
    });
    assert.deepEqual([queue.max_batch_size, queue.max_coalescing_delay], [7, 3]);
  });
});
