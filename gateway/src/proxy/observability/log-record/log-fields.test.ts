/** Members that plugins set in the record of an exchange. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { LogValue } from "@sluice/plugin-sdk";
import { routeNamed } from "../../../compile/testing-entities.ts";
import type { IncomingRequest } from "../../exchange/request.ts";
import { forgetLogRecord, type LoggedExchange, logRecordOf } from "./log-record.ts";

const route = routeNamed("r", { paths: ["/"] });

function exchangeWith(fields: Readonly<Record<string, LogValue>>): LoggedExchange {
  const head = { peer: { tlsVersion: null }, headerLines: "Host: a.test\r\n" };
  const request = { head, query: "", method: "GET", target: { sentPath: "/" }, scheme: "http", host: "a.test" };
  return {
    id: "0123456789abcdef",
    request: { ...request, connection: { port: 80 }, clientAddress: "192.0.2.1" } as unknown as IncomingRequest,
    runtime: { snapshot: { plugins: new Map() } } as unknown as LoggedExchange["runtime"],
    route,
    service: null,
    consumer: null,
    credential: null,
    timings: { started: 0, ended: 1 },
    status: 200,
    source: "gateway",
    bytesIn: 1,
    bytesOut: 2,
    forwardedTarget: null,
    sentHead: null,
    attempts: [],
    logFields: new Map(Object.entries(fields)),
  };
}

function recordOf(exchange: LoggedExchange) {
  const { bytes, length } = logRecordOf(exchange);
  return JSON.parse(bytes.toString("utf8", 0, length));
}

test("members are set, nested, replaced and removed", () => {
  forgetLogRecord();
  const {
    a,
    request,
    __proto__: own,
    client_ip,
    ...rest
  } = recordOf(
    exchangeWith({
      "a.b": [1, "ü"],
      "a.c": true,
      "request.method": null,
      "response.status": "hidden",
      client_ip: null,
    }),
  );
  assert.deepEqual(a, { b: [1, "ü"], c: true });
  assert.deepEqual(
    [request.method, request.uri, client_ip, rest.response.status],
    [undefined, "/", undefined, "hidden"],
  );
});

test("the record is written again after a member was set, and only then", () => {
  forgetLogRecord();
  assert.equal(recordOf(exchangeWith({ a: 1 })).a, 1);
  assert.equal(recordOf(exchangeWith({ a: 2 })).a, 1, "the exchange has the same id");
  forgetLogRecord();
  assert.equal(recordOf(exchangeWith({ a: 2 })).a, 2);
});
