import assert from "node:assert/strict";
import { request } from "node:http";
import { test } from "node:test";
import { type StatusRoutes, StreamedText, startStatusServer } from "./server.ts";

const answers: StatusRoutes = {
  "/a": () => ({ body: { a: 1 } }),
  "/busy": () => ({ status: 503, body: { message: "busy" } }),
  "/text": () => ({
    body: new StreamedText("text/plain", async function* () {
      yield* ["one ", "two"];
    }),
  }),
  "/fails"() {
    throw new Error("no");
  },
};

interface Answer {
  readonly status: number | undefined;
  readonly type: string | undefined;
  readonly text: string;
}

const cases: readonly (readonly [method: string, path: string, expected: Answer])[] = [
  ["GET", "/a", { status: 200, type: "application/json; charset=utf-8", text: '{"a":1}' }],
  ["GET", "/a/", { status: 200, type: "application/json; charset=utf-8", text: '{"a":1}' }],
  ["GET", "/a?b=c", { status: 200, type: "application/json; charset=utf-8", text: '{"a":1}' }],
  ["HEAD", "/a", { status: 200, type: "application/json; charset=utf-8", text: "" }],
  ["GET", "/busy", { status: 503, type: "application/json; charset=utf-8", text: '{"message":"busy"}' }],
  ["GET", "/text", { status: 200, type: "text/plain", text: "one two" }],
  ["HEAD", "/text", { status: 200, type: "text/plain", text: "" }],
  ["GET", "/fails", { status: 500, type: "application/json; charset=utf-8", text: '{"message":"no"}' }],
  ["POST", "/a", { status: 404, type: "application/json; charset=utf-8", text: '{"message":"Not found"}' }],
  ["GET", "/", { status: 404, type: "application/json; charset=utf-8", text: '{"message":"Not found"}' }],
  ["GET", "/constructor", { status: 404, type: "application/json; charset=utf-8", text: '{"message":"Not found"}' }],
];

test("the status server answers GET and HEAD on its paths, and all other requests with 404", async () => {
  const server = await startStatusServer(answers, { host: "127.0.0.1", port: 0 });
  try {
    for (const [method, path, expected] of cases) {
      assert.deepEqual(await ask(server.address.port, method, path), expected, `${method} ${path}`);
    }
  } finally {
    await server.close();
  }
});

test("the status server does not start on an address that is in use", async () => {
  const server = await startStatusServer(answers, { host: "127.0.0.1", port: 0 });
  try {
    await assert.rejects(startStatusServer(answers, server.address), { code: "EADDRINUSE" });
  } finally {
    await server.close();
  }
});

function ask(port: number, method: string, path: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: "127.0.0.1", port, method, path, agent: false }, async (response) => {
      const pieces = await response.setEncoding("utf8").toArray();
      resolve({ status: response.statusCode, type: response.headers["content-type"], text: pieces.join("") });
    });
    asked.once("error", reject);
    asked.end();
  });
}
