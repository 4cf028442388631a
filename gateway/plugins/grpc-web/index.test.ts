import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type FakeExchangeOptions, fakeExchange, pluginInstance } from "../../../test/plugins/fake-exchange.ts";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { decodedText, trailerFrame } from "./messages.ts";

/** Bodies in Base64 from Kong's test (spec/03-plugins/32-grpc-web). */
const REQUEST_TEXT = "AAAAAAYKBGhleWE=";
const TRAILERS_TEXT = "gAAAAB5ncnBjLXN0YXR1czowDQpncnBjLW1lc3NhZ2U6DQo=";

async function access(options: FakeExchangeOptions, config: object = {}) {
  const exchange = fakeExchange({ method: "POST", path: "/hello.HelloService/SayHello", ...options });
  const answer = await pluginInstance("grpc-web", withConfigDefaults("grpc-web", config)).access?.(exchange);
  return { answer, exchange };
}

const typed = (type: string): FakeExchangeOptions => ({ headers: { "content-type": type } });

describe("grpc-web", () => {
  it("sends the bytes of a body in base64 as gRPC, with the path of the request", async () => {
    const { answer, exchange } = await access({ ...typed("application/grpc-web-text"), body: REQUEST_TEXT });
    assert.equal(answer, undefined);
    assert.deepEqual(exchange.replacedBody, Buffer.from("\0\0\0\0\x06\n\x04heya"));
    assert.deepEqual(exchange.upstreamHeaders.all(), { "content-type": "application/grpc", te: "trailers" });
    assert.deepEqual([exchange.convertsGrpc, exchange.upstreamPath], [true, "/hello.HelloService/SayHello"]);
  });

  it("does not replace a binary body", async () => {
    const { answer, exchange } = await access({ ...typed("Application/gRPC-Web+proto"), body: "x" });
    assert.deepEqual([answer, exchange.replacedBody], [undefined, null]);
  });

  it("answers a preflight request as Kong does, with the configured origin", async () => {
    const { answer, exchange } = await access({ method: "OPTIONS" }, { allow_origin_header: "https://shop.example" });
    assert.deepEqual(answer, {
      status: 200,
      headers: {
        "Content-Type": "application/grpc-web-text+proto",
        "Access-Control-Allow-Methods": "POST",
        "Access-Control-Allow-Headers": "content-type,x-grpc-web,x-user-agent",
      },
      body: "OK",
    });
    assert.deepEqual(exchange.responseHeaders.all(), { "access-control-allow-origin": "https://shop.example" });
  });

  for (const [type, body, status] of [
    ["application/json", "{}", 400],
    ["application/grpc-web+json", "{}", 400],
    ["application/grpc", "", 400],
    ["text/plain", "", 400],
    ["application/grpc-web-text", "AAA", 400],
    ["application/grpc-web-text", "AA*A", 400],
    ["application/grpc-web-text", "A===", 400],
    ["application/grpc-web-text", "=AAA", 400],
    ["application/grpc-web-text", "AA=A", 400],
    ["application/grpc-web-text", "A".repeat(8 * 1024 * 1024 + 4), 413],
  ] as const) {
    it(`answers ${status} to ${type} with a body of ${body.length} characters: ${body.slice(0, 4)}`, async () => {
      const { answer } = await access({ ...typed(type), body });
      assert.equal(answer?.status, status);
    });
  }

  it("refuses JSON with Kong's message", async () => {
    const { answer } = await access(typed("application/json"));
    assert.equal(answer?.body, "transcoding requests require a .proto file defining the service");
  });

  it("does not convert a response whose status is not 200, or a response of the gateway itself", async () => {
    for (const options of [{ status: 503 }, { source: "gateway" as const }]) {
      const instance = pluginInstance("grpc-web", withConfigDefaults("grpc-web", {}));
      const exchange = fakeExchange({ method: "POST", ...typed("application/grpc-web"), ...options });
      await instance.access?.(exchange);
      instance.responseHeaders?.(exchange);
      assert.deepEqual(
        [instance.responseBody?.(exchange), exchange.responseHeaders.get("content-type")],
        [null, undefined],
      );
    }
  });

  it("refuses a config with a .proto file, and accepts an unset `proto`", () => {
    const [violation = ""] = configViolations("grpc-web", { proto: "hello.proto" });
    assert.match(violation, /^proto: not supported: JSON is not converted to messages/);
    assert.deepEqual(configViolations("grpc-web", { proto: null }), []);
  });
});

describe("decodedText", () => {
  it("decodes pieces with padding between them", () => {
    const pieces = ["a", "bc", "def", "\xff\0"].map((piece) => Buffer.from(piece, "latin1"));
    const text = pieces.map((piece) => piece.toString("base64")).join("");
    assert.deepEqual(decodedText(Buffer.from(text)), Buffer.concat(pieces));
  });
});

describe("trailerFrame", () => {
  for (const [fields, text] of [
    [["grpc-status", "0"], "grpc-status:0\r\ngrpc-message:\r\n"],
    [
      ["grpc-message", "no", "X-A", "1", "x-a", "2", "grpc-status", "5"],
      "grpc-status:5\r\ngrpc-message:no\r\nx-a:1\r\nx-a:2\r\n",
    ],
    [[], "grpc-status:2\r\ngrpc-message:\r\n"],
  ] as const) {
    it(`begins with the status, which is UNKNOWN if it is missing: ${fields.join()}`, () => {
      const frame = trailerFrame(fields);
      assert.deepEqual([frame[0], frame.readUInt32BE(1)], [0x80, frame.length - 5]);
      assert.equal(frame.toString("latin1", 5), text);
    });
  }

  it("equals Kong's frame for a successful call", () => {
    assert.equal(trailerFrame(["grpc-status", "0"]).toString("base64"), TRAILERS_TEXT);
  });
});
