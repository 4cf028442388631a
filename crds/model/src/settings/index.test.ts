import assert from "node:assert/strict";
import { test } from "node:test";
import { type Declaration, defineSettings, describeSettings, readSettings, resolveSettings } from "./index.ts";

const declarations = defineSettings({
  listen: { variable: "T_LISTEN", kind: "address", default: "127.0.0.1:8000", description: "Where to listen." },
  source: { variable: "T_SOURCE", kind: "choice", words: ["push", "file"], default: "push", description: "A | B." },
  file: { variable: "T_FILE", kind: "text", default: null, description: "The file." },
  grace: { variable: "T_GRACE", kind: "duration", default: 5000, description: "How long to drain." },
  token: { variable: "T_TOKEN", kind: "text", secret: true, description: "The token." },
  trusted: { variable: "T_TRUSTED", kind: "list", default: [], description: "Proxies." },
  streams: {
    variable: "T_STREAMS",
    kind: "listeners",
    default: [{ host: "::1", port: 1, tls: true }],
    description: "More.",
  },
});

test("readSettings reads every setting as the type of its declaration", () => {
  const env = { T_TOKEN: " x ", T_SOURCE: "file", T_FILE: "a.yaml", T_TRUSTED: "a, b,,", T_GRACE: "1.5s" };
  const { value } = readSettings(declarations, env);
  assert.ok(value);
  const source: "push" | "file" = value.source;
  const file: string | null = value.file;
  const port: number = value.listen.port;
  assert.deepEqual(
    [source, file, port, value.grace, value.token, value.trusted],
    ["file", "a.yaml", 8000, 1500, "x", ["a", "b"]],
  );
});

test("an empty variable counts as unset", () => {
  const { value } = readSettings(declarations, { T_TOKEN: "x", T_FILE: " ", T_GRACE: "" });
  assert.deepEqual([value?.file, value?.grace], [null, 5000]);
});

test("readSettings reports all violations together, with the variable and the expected form", () => {
  const { violations } = readSettings(declarations, { T_LISTEN: "x", T_SOURCE: "z", T_GRACE: "5" });
  assert.deepEqual(violations, [
    { path: ["T_LISTEN"], message: "expected host:port, such as 127.0.0.1:8000 or [::1]:8000, not 'x'" },
    { path: ["T_SOURCE"], message: "expected one of: push, file, not 'z'" },
    { path: ["T_GRACE"], message: "expected a duration with its unit, such as 250ms, 5s, 2m or 1h, not '5'" },
    { path: ["T_TOKEN"], message: "must be set: a string" },
  ]);
});

test("the value of a secret setting appears in no message", () => {
  const secret = { pin: { variable: "PIN", kind: "integer", secret: true, description: "x" } } as const;
  const { violations } = readSettings(secret, { PIN: "hunter2" });
  assert.deepEqual(violations, [{ path: ["PIN"], message: "expected an integer" }]);
});

const described = { variable: "X", description: "x" };
const port: Declaration = { ...described, kind: "integer", minimum: 0, maximum: 65_535 };
const count: Declaration = { ...described, kind: "count", maximum: 255 };
const flag: Declaration = { ...described, kind: "flag" };
const share: Declaration = { ...described, kind: "share" };
const duration: Declaration = { ...described, kind: "duration" };
const address: Declaration = { ...described, kind: "address" };
const addresses: Declaration = { ...described, kind: "addresses" };
const listeners: Declaration = { ...described, kind: "listeners" };
const withPorts: Declaration = { ...described, kind: "addresses", ports: true };

const cases: readonly (readonly [declaration: Declaration, text: string, value: unknown])[] = [
  [addresses, "10.0.0.0/8, ::1,", ["10.0.0.0/8", "::1"]],
  [addresses, "10.0.0.0/33", undefined],
  [addresses, "::1/129", undefined],
  [addresses, "10.0.0.1, localhost", undefined],
  [addresses, "10.0.0.1:80", undefined],
  [addresses, "::1%eth0", undefined],
  [withPorts, "127.0.0.0/8, [::1]:80, 10.0.0.1:80", ["127.0.0.0/8", "[::1]:80", "10.0.0.1:80"]],
  [withPorts, "localhost:80", undefined],
  [port, "80", 80],
  [port, "65536", undefined],
  [port, "-1", undefined],
  [port, "1e3", undefined],
  [count, "3", 3],
  [count, "auto", "auto"],
  [count, "0", undefined],
  [count, "256", undefined],
  [count, "all", undefined],
  [port, "9007199254740993", undefined],
  [share, "0", 0],
  [share, "0.25", 0.25],
  [share, ".5", 0.5],
  [share, "1.0", 1],
  [share, "1.01", undefined],
  [share, "-0.1", undefined],
  [share, "1e-3", undefined],
  [flag, "TRUE", true],
  [flag, "on", true],
  [flag, "1", true],
  [flag, "no", false],
  [flag, "0", false],
  [flag, "maybe", undefined],
  [flag, "constructor", undefined],
  [duration, "250ms", 250],
  [duration, "2m", 120_000],
  [duration, "1h", 3_600_000],
  [duration, "1d", undefined],
  [duration, "-1s", undefined],
  [address, "0.0.0.0:0", { host: "0.0.0.0", port: 0 }],
  [address, "[::1]:8000", { host: "::1", port: 8000 }],
  [address, "localhost:8000", { host: "localhost", port: 8000 }],
  [address, "8000", undefined],
  [address, ":8000", undefined],
  [address, "a:65536", undefined],
  [address, "::1:8000", undefined],
  [
    listeners,
    "0.0.0.0:9000, [::1]:9443 ssl,",
    [
      { host: "0.0.0.0", port: 9000, tls: false },
      { host: "::1", port: 9443, tls: true },
    ],
  ],
  [
    listeners,
    "a:0, a:0 ssl",
    [
      { host: "a", port: 0, tls: false },
      { host: "a", port: 0, tls: true },
    ],
  ],
  [listeners, "OFF", []],
  [listeners, "9000", undefined],
  [listeners, "a:9000, a:9000 ssl", undefined],
  [listeners, "a:9000 proxy_protocol", undefined],
  [listeners, "a:9000 ssl reuseport", undefined],
  [listeners, "a:9000, off", undefined],
];

for (const [declaration, text, value] of cases) {
  const kind = declaration === withPorts ? "addresses with ports" : declaration.kind;
  test(`a setting of the kind ${kind} ${value === undefined ? "refuses" : "accepts"} ${text}`, () => {
    const read = readSettings({ x: declaration }, { X: text });
    assert.deepEqual(read.value?.x, value);
    assert.equal(read.violations?.length, value === undefined ? 1 : undefined);
  });
}

test("describeSettings writes a table for the reference pages", () => {
  assert.deepEqual(describeSettings(declarations).split("\n").slice(2, 9), [
    "| `T_LISTEN`<br>`--t-listen`<br>`t_listen` | host:port, such as 127.0.0.1:8000 or [::1]:8000 | `127.0.0.1:8000` | Where to listen. |",
    "| `T_SOURCE`<br>`--t-source`<br>`t_source` | one of: push, file | `push` | A \\| B. |",
    "| `T_FILE`<br>`--t-file`<br>`t_file` | a string | unset | The file. |",
    "| `T_GRACE`<br>`--t-grace`<br>`t_grace` | a duration with its unit, such as 250ms, 5s, 2m or 1h | `5s` | How long to drain. |",
    "| `T_TOKEN`<br>`t_token` | a string | required | The token. |",
    "| `T_TRUSTED`<br>`--t-trusted`<br>`t_trusted` | strings separated by commas | unset | Proxies. |",
    "| `T_STREAMS`<br>`--t-streams`<br>`t_streams` | addresses separated by commas, each followed by the word ssl if its clients use TLS, such as 0.0.0.0:9000, 0.0.0.0:9443 ssl; or off | `[::1]:1 ssl` | More. |",
  ]);
});

test("a flag overrides a variable, a variable the file, and the file the default", () => {
  const member = (text: string) => ({ text, sequence: false, position: "s.yml:1:1" });
  const file = new Map([
    ["t_file", member("from-file")],
    ["t_source", member("file")],
    ["t_grace", member("1s")],
  ]);
  const env = { T_TOKEN: "x", T_SOURCE: "push", T_GRACE: "2s" };
  const resolved = resolveSettings(declarations, env, { flags: { "--t-grace": "3s" }, file });
  assert.deepEqual(
    resolved.map(({ from, place }) => [from, place]),
    [
      ["default", "T_LISTEN"],
      ["variable", "T_SOURCE"],
      ["file", "s.yml:1:1: t_file"],
      ["flag", "--t-grace"],
      ["variable", "T_TOKEN"],
      ["default", "T_TRUSTED"],
      ["default", "T_STREAMS"],
    ],
  );
  assert.equal(readSettings(declarations, env, { flags: { "--t-grace": "3s" }, file }).value?.grace, 3000);
});

test("a flag with an empty value is refused", () => {
  const { violations } = readSettings(declarations, { T_TOKEN: "x" }, { flags: { "--t-file": "" } });
  assert.deepEqual(violations, [{ path: ["--t-file"], message: "expected a string, not an empty text" }]);
});
