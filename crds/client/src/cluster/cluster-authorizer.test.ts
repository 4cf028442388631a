import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { type ClusterAuthorizer, createClusterAuthorizer } from "./cluster-authorizer.ts";

describe("the cluster authorizer", () => {
  const asked: { readonly path: string; readonly spec: Record<string, unknown> }[] = [];
  let status: object | null = {};
  let time = 0;
  let access: ClusterAuthorizer;
  const folder = mkdtempSync(join(tmpdir(), "sluice-access-"));
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    asked.push({ path: request.url ?? "", spec: JSON.parse(Buffer.concat(chunks).toString()).spec });
    if (status === null) response.statusCode = 500;
    response.end(JSON.stringify(status === null ? { kind: "Status", message: "no" } : { status }));
  });

  before(async () => {
    await once(server.listen(0, "127.0.0.1"), "listening");
    const kubeconfig = join(folder, "config");
    writeFileSync(
      kubeconfig,
      JSON.stringify({
        clusters: [
          {
            name: "c",
            cluster: {
              server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
              "insecure-skip-tls-verify": true,
            },
          },
        ],
        users: [{ name: "u", user: { token: "t" } }],
        contexts: [{ name: "here", context: { cluster: "c", user: "u" } }],
        "current-context": "here",
      }),
    );
    access = createClusterAuthorizer({ kubeconfig, now: () => time });
  });
  beforeEach(() => {
    time += 60_000;
    asked.length = 0;
  });
  after(async () => {
    await access.close();
    server.close();
    rmSync(folder, { recursive: true });
  });

  const ann = { username: "ann", groups: ["staff"] };
  const right = { verb: "create", group: "sluice.dev", resource: "services", namespace: "default" } as const;

  test("identifies the owner of a token, and asks the API server again only after ten seconds", async () => {
    status = { authenticated: true, user: ann };
    assert.deepEqual(await Promise.all([access.authenticate("a"), access.authenticate("a")]), [ann, ann]);
    time += 9_999;
    assert.deepEqual(await access.authenticate("a"), ann);
    assert.deepEqual(asked, [{ path: "/apis/authentication.k8s.io/v1/tokenreviews", spec: { token: "a" } }]);
    time += 1;
    status = { authenticated: false };
    assert.equal(await access.authenticate("a"), null);
  });

  for (const [what, answer] of [
    ["rejects the token", { authenticated: false, error: "expired" }],
    ["returns an empty status", {}],
    ["names no user", { authenticated: true, user: {} }],
  ] as const) {
    test(`accepts no identity when the API server ${what}`, async () => {
      status = answer;
      assert.equal(await access.authenticate("b"), null);
    });
  }

  test("sends the user with all groups, and one request per permission", async () => {
    status = { allowed: true };
    assert.equal(await access.isAllowed(ann, right), true);
    status = { allowed: false };
    assert.equal(await access.isAllowed(ann, { ...right, verb: "delete" }), false);
    assert.equal(await access.isAllowed(ann, right), true);
    assert.deepEqual(asked[0], {
      path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
      spec: { user: "ann", groups: ["staff"], resourceAttributes: right },
    });
    assert.equal(asked.length, 2);
  });

  test("rejects when the API server fails, and asks it again at the next call", async () => {
    status = null;
    await assert.rejects(access.isAllowed(ann, { ...right, verb: "list" }));
    status = { allowed: true };
    assert.equal(await access.isAllowed(ann, { ...right, verb: "list" }), true);
  });

  test("sends at most 64 requests at a time, and rejects further calls", async () => {
    status = { authenticated: true, user: ann };
    const answers = await Promise.allSettled(Array.from({ length: 70 }, (_, n) => access.authenticate(`flood-${n}`)));
    assert.equal(answers.filter((answer) => answer.status === "rejected").length, 6);
    assert.equal(asked.length, 64);
    assert.deepEqual(await access.authenticate("flood-69"), ann);
  });

  test("caches a limited number of results", async () => {
    status = { authenticated: true, user: ann };
    for (let n = 0; n < 1030; n++) await access.authenticate(`many-${n}`);
    asked.length = 0;
    await access.authenticate("many-1029");
    assert.equal(asked.length, 0);
    await access.authenticate("many-0");
    assert.equal(asked.length, 1);
  });
});
