/**
 * The audit of GraphQL over HTTP by the package graphql-http: every check of the package, including the checks of what
 * the specification only recommends (SHOULD) or allows (MAY).
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { FastifyInstance } from "fastify";
import { serverAudits } from "graphql-http";
import { testApp } from "../testing.ts";

describe("the audit of GraphQL over HTTP", () => {
  let app: FastifyInstance;
  let address: string;
  const audits = serverAudits({ url: () => `${address}/graphql` });

  before(async () => {
    ({ app } = await testApp());
    address = await app.listen({ host: "127.0.0.1", port: 0 });
  });
  after(() => app.close());

  it("has 61 checks", () => assert.equal(audits.length, 61));

  for (const { id, name, fn } of audits) {
    it(`${id}: ${name}`, async () => {
      const result = await fn();
      assert.equal(result.status, "ok", "reason" in result ? result.reason : "");
    });
  }
});
