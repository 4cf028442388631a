/** The text of a plan. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { planText } from "./plan-text.ts";

test("a plan is printed without the control characters of members and answers", () => {
  const request = {
    method: "GET",
    scheme: "http",
    host: "a",
    path: "/",
    headers: {},
    sni: null,
    consumer: null,
  } as const;
  const answer = { about: "answer", kind: "answered", before: null, after: "503: \u001b[2Jclosed\nnow" } as const;
  const text = planText({
    created: [{ collection: "certificates", id: "1", name: null, members: { cert: "BEGIN\nEND" } }],
    changed: [],
    deleted: [],
    requests: {
      sampled: 1,
      changed: [{ kind: "answered", request, before: null, after: null, differences: [answer], similar: 0 }],
      incomplete: false,
      left_out: ["Route a\u001b/b is not served as written"],
    },
  });
  assert.match(text, /^\+ certificates\/1\n\+ {3}cert: BEGIN\\x0aEND\n/);
  assert.match(text, /\n {4}answer: none -> 503: \\x1b\[2Jclosed\\x0anow\n/);
  assert.match(text, /\n\nNot in the samples:\n {2}Route a\\x1b\/b is not served as written\n$/);
});
