/** The text form of log lines, which gateway, operator and user API share. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { textLogTo } from "@sluice/model";
import { pino } from "pino";
import { plainTextLogTo } from "../../../user-api/src/operations/text-log.ts";

const implementations = { "the model": textLogTo, "the user API": plainTextLogTo };

const TIME = "2026-01-02T03:04:05.006Z";

const failure = Object.assign(new Error("no\u009b route"), {
  stack: "Error: no\u009b route\n    at a.ts:1:2",
  code: "E1",
});

const lines: readonly (readonly [
  what: string,
  level: "info" | "error",
  facts: object,
  message: string,
  text: string,
])[] = [
  ["a message", "info", {}, "it is up", `${TIME} INFO  it is up\n`],
  [
    "members",
    "error",
    { node: "http://10.0.0.1:8005", count: 2, gone: null, text: "a b", empty: "", sign: "a=b" },
    "lost",
    `${TIME} ERROR lost node=http://10.0.0.1:8005 count=2 gone=null text="a b" empty="" sign="a=b"\n`,
  ],
  ["objects", "info", { address: { port: 1 } }, "up", `${TIME} INFO  up address={"port":1}\n`],
  [
    "an error with its stack",
    "error",
    { err: failure },
    "failed",
    `${TIME} ERROR failed err="no\\x9b route"\n    Error: no\\x9b route\n        at a.ts:1:2\n`,
  ],
  [
    "an error without a message of its own",
    "error",
    { err: failure },
    "",
    `${TIME} ERROR no\\x9b route\n    Error: no\\x9b route\n        at a.ts:1:2\n`,
  ],
  [
    "control characters, which a terminal would execute,",
    "info",
    { path: "/\u001b[2J\u0085\n" },
    "a\r\nb\u001b[31m",
    `${TIME} INFO  a\\x0d\\x0ab\\x1b[31m path="/\\u001b[2J\\x85\\n"\n`,
  ],
];

for (const [name, createDestination] of Object.entries(implementations))
  for (const [what, level, facts, message, text] of lines)
    test(`${name} writes ${what} as text`, () => {
      const written: string[] = [];
      const options = { name: "program", timestamp: () => `,"time":"${TIME}"` };
      const log = pino(options, createDestination({ write: (piece: string) => written.push(piece) }));
      if (message === "") log[level](facts);
      else log[level](facts, message);
      assert.equal(written.join(""), text);
    });
