import assert from "node:assert/strict";
import { test } from "node:test";
import { curlCommand, readServerTiming } from "./trace-command.ts";

const sent = { method: "GET", url: "http://shop.example/a", header: "X-Sluice-Debug", token: "t" };

const commands: readonly (readonly [what: string, request: Partial<typeof sent>, end: string])[] = [
  ["prints the head of the response", {}, "-o /dev/null -D - -H 'X-Sluice-Debug: t' 'http://shop.example/a'"],
  ["has the method", { method: "POST" }, "-D - -X 'POST' -H 'X-Sluice-Debug: t' 'http://shop.example/a'"],
  ["waits for no body after HEAD", { method: "HEAD" }, "--head -H 'X-Sluice-Debug: t' 'http://shop.example/a'"],
  [
    "quotes a URL that a client chose",
    { url: "http://a/'; reboot; '$(id)" },
    String.raw`'http://a/'\''; reboot; '\''$(id)'`,
  ],
];
for (const [what, request, end] of commands)
  test(`the command of a trace ${what}`, () => {
    const command = curlCommand({ ...sent, ...request });
    assert.equal(command.slice(-end.length), end);
  });

test("Server-Timing is read from a header or from a whole head", () => {
  const value = 'route;desc="shop, \\"new\\"", plugin-key-auth;dur=0.11;desc="ran", total;dur=1.78';
  const steps = [
    { name: "route", duration: null, description: 'shop, "new"' },
    { name: "plugin-key-auth", duration: 0.11, description: "ran" },
    { name: "total", duration: 1.78, description: "" },
  ];
  assert.deepEqual(readServerTiming(value), steps);
  assert.deepEqual(readServerTiming(`HTTP/1.1 200 OK\r\nServer-Timing: ${value}\r\nDate: x\r\n`), steps);
});

for (const text of ["", "HTTP/1.1 200 OK\nContent-Type: text/plain\n"])
  test(`${JSON.stringify(text)} has no durations`, () => assert.deepEqual(readServerTiming(text), []));
