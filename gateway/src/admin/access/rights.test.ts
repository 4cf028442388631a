import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { requiredRights } from "./rights.ts";

const rightsFor = (method: string, url: string): readonly string[] =>
  requiredRights(method, url, "home").map(
    ({ verb, group, resource, namespace = "*" }) =>
      `${verb} ${group === "" ? "core" : "ours"}/${resource} in ${namespace}`,
  );

describe("the rights that RBAC must grant", () => {
  const table: readonly (readonly [string, readonly string[]])[] = [
    ["GET /services", ["list ours/services in *"]],
    ["HEAD /services/:entity", ["get ours/services in *"]],
    ["POST /services", ["create ours/services in *"]],
    ["POST /consumers", ["create ours/consumers in home"]],
    ["PUT /services/:entity", ["create ours/services in *", "update ours/services in *"]],
    ["PATCH /services/:entity", ["patch ours/services in *"]],
    ["DELETE /services/:entity", ["delete ours/services in *"]],
    ["POST /services/:entity/routes", ["create ours/routes in *"]],
    ["GET /routes/:entity/service", ["get ours/services in *"]],
    [
      "PUT /routes/:entity/service",
      ["create ours/services in *", "update ours/services in *", "patch ours/routes in *"],
    ],
    ["GET /key-auths", ["list ours/consumers in *", "list core/secrets in home"]],
    ["POST /consumers/:entity/key-auth", ["update ours/consumers in *", "create core/secrets in home"]],
    ["GET /certificates/:entity", ["get ours/certificates in *", "get core/secrets in home"]],
    ["POST /snis", ["update ours/certificates in *"]],
    ["POST /upstreams/:entity/targets", ["update ours/upstreams in *"]],
    ["GET /upstreams/:entity/health", ["get ours/upstreams in *"]],
    ["PUT /upstreams/:entity/targets/:target/unhealthy", ["update ours/upstreams in *"]],
    ["GET /", []],
    ["GET /partials", []],
    ["GET ", []],
    ["GET /schemas/:name", []],
    ["POST /schemas/:name/validate", []],
    ["GET /schemas/plugin_credentials/:name", []],
  ];
  for (const [request, rights] of table) {
    const [method = "", url = ""] = request.split(" ");
    test(`for ${url === "" ? "a URL without a route" : request} are ${rights.join(", ") || "none"}`, () =>
      assert.deepEqual(rightsFor(method, url), rights));
  }

  for (const request of [
    "GET /config",
    "POST /config",
    "POST /explain",
    "GET /problems",
    "GET /origins/:collection/:id",
    "GET /certificate-details",
    "GET /certificate-details/:id",
    "GET /resources/:kind/:namespace/:name",
    "POST /debug-tokens",
    "GET /requests",
    "GET /traffic",
    "GET /access-log",
    "GET /usage/credentials",
    "GET /revisions",
    "GET /revisions/:number/difference",
    "GET /tags",
    "GET /tags/:tag",
    "GET /whatever-comes",
  ]) {
    const [method = "", url = ""] = request.split(" ");
    test(`for ${request} are the rights to list everything, including Secrets`, () => {
      const rights = rightsFor(method, url);
      for (const resource of ["certificates", "upstreams", "services", "routes", "consumers", "plugins"])
        assert.ok(rights.includes(`list ours/${resource} in *`), resource);
      assert.ok(rights.includes("list core/secrets in home"));
    });
  }

  for (const url of ["/batch", "/config/apply", "/revisions/:number/rollback", "/whatever-comes"])
    test(`for POST ${url} are the rights to write everything, including Secrets`, () => {
      const rights = rightsFor("POST", url);
      assert.ok(rights.includes("delete ours/services in *"));
      assert.ok(rights.includes("create core/secrets in home"));
    });
});
