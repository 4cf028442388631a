import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiServerError, UnknownKind } from "@sluice/crds";
import { throwUnavailable } from "./write-faults.ts";

const system = (code: string, message: string) => Object.assign(new Error(message), { code });
const prefix = "the resources cannot be read or written: ";

const causes: readonly (readonly [what: string, cause: unknown, expected: string])[] = [
  [
    "a full disk",
    system("ENOSPC", "ENOSPC: no space left on device, write"),
    "ENOSPC: no space left on device, write: free space on this disk",
  ],
  [
    "a folder that is read-only",
    system("EROFS", "EROFS: read-only file system, open '/r/a.yaml'"),
    "EROFS: read-only file system, open '/r/a.yaml': the file system is mounted read-only",
  ],
  [
    "an unreachable API server",
    system("ECONNREFUSED", "connect ECONNREFUSED 10.0.0.1:6443"),
    "connect ECONNREFUSED 10.0.0.1:6443",
  ],
  [
    "an overloaded API server",
    new ApiServerError(429, { message: "too many requests" }),
    "the API server answered 429 (too many requests)",
  ],
  [
    "an expired token",
    new ApiServerError(401, { message: "Unauthorized" }),
    "the API server does not accept the credentials of the admin listener (Unauthorized)",
  ],
  [
    "a kind that is not served",
    new UnknownKind("the cluster has no routes: are the CRDs installed?"),
    "the cluster has no routes: are the CRDs installed?",
  ],
  ["an unknown error", new Error("bearer secret"), "the log of the admin listener has the reason"],
];

for (const [what, cause, expected] of causes) {
  test(`the message for ${what} ends with: ${expected}`, () =>
    assert.throws(() => throwUnavailable(cause), { message: prefix + expected, cause }));
}

test("the message for a long response contains only its start", () => {
  const page = new ApiServerError(502, { message: "x".repeat(10_000) });
  assert.throws(
    () => throwUnavailable(page),
    (error: Error) => error.message.length < 400,
  );
});
