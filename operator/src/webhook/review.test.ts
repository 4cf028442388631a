import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type AdmissionResponse, reviewResource } from "./review.ts";

const uid = "705ab4f5-6393-11e8-b7cc-42010a800002";
const options = { homeNamespace: "default", isOwn: () => true };
const url = { url: "http://users:4000" };
const paths = { paths: ["/users"] };
const secretRef = { name: "demo", key: "key" };

const resource = (kind: string, spec: unknown) => ({
  apiVersion: "sluice.dev/v1alpha1",
  kind,
  metadata: { name: "tried" },
  spec,
});

function ask(object: unknown, request: object = {}): AdmissionResponse {
  const body = {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: { uid, operation: "CREATE", namespace: "default", name: "tried", object, ...request },
  };
  const answer = reviewResource(body, options);
  assert.ok("response" in answer, JSON.stringify(answer));
  assert.deepEqual([answer.apiVersion, answer.kind, answer.response.uid], [body.apiVersion, body.kind, uid]);
  return answer.response;
}

const redis = { policy: "redis", minute: 5 };

describe("refused reviews, with the model's messages", () => {
  const table: readonly (readonly [what: string, kind: string, spec: object, message: string])[] = [
    [
      "an unknown member of config",
      "Plugin",
      { plugin: "cors", config: { orgins: ["*"] } },
      "spec.config.orgins: unknown field",
    ],
    [
      "a member of config of the wrong type",
      "Plugin",
      { plugin: "cors", config: { max_age: "long" } },
      "spec.config.max_age: expected an integer",
    ],
    [
      "an invalid regular expression",
      "Route",
      { paths: ["~/users/("] },
      "spec.paths[0]: not a valid regex: /users/( (missing closing ): `/users/(`)",
    ],
    [
      "several errors, each on its own line",
      "Route",
      { paths: ["/a//b", "/b/../c"], hosts: ["a.*.b"] },
      "spec.hosts[0]: invalid wildcard: must be placed at leftmost or rightmost label\n" +
        "spec.paths[0]: must not have empty segments\n" +
        "spec.paths[1]: non-normalized path, consider use '/c' instead",
    ],
    [
      "the label of a node that no node can have",
      "GatewayParameters",
      { deployment: { nodeSelector: { "a/b/c": "d" } } },
      "spec.deployment.nodeSelector: not the key of a label: a/b/c; write NAME or PREFIX/NAME",
    ],
    [
      "an error in a key",
      "Consumer",
      { username: "ann", keyAuth: [{ secretRef, ttl: -1 }] },
      "spec.keyAuth[0].ttl: value should be between 0 and 100000000",
    ],
  ];
  for (const [what, kind, spec, message] of table)
    test(what, () => {
      const { allowed, status } = ask(resource(kind, spec));
      assert.deepEqual([allowed, status], [false, { code: 422, message }]);
    });

  test("a plugin for all requests, outside the home namespace", () => {
    const { status } = ask(resource("Plugin", { plugin: "prometheus" }), { namespace: "team" });
    assert.match(status?.message ?? "", /^spec\.targetRefs: set targetRefs: .* namespace default$/);
  });
});

describe("accepted reviews", () => {
  const table: readonly (readonly [what: string, kind: string, spec: object, more?: object])[] = [
    ["a valid resource", "Service", url],
    ["a reference to a missing resource", "Route", { ...paths, serviceRef: { name: "later" } }],
    ["a missing target", "Plugin", { plugin: "cors", targetRefs: [{ kind: "Route", name: "later" }] }],
    ["a missing backend", "Service", { backendRef: { name: "later", port: 80 } }],
    ["a key whose Secret is missing", "Consumer", { username: "ann", keyAuth: [{ secretRef }] }],
    ["a certificate whose Secret is missing", "Certificate", { secretRef: { name: "later" } }],
    [
      "a required member of config that a Secret holds",
      "Plugin",
      { plugin: "rate-limiting", config: redis, configFrom: [{ path: "redis.host", secretRef }] },
    ],
    ["valid parameters of a Gateway", "GatewayParameters", { nodes: "Dedicated", deployment: { replicas: 3 } }],
    ["a deletion of an invalid resource", "Route", { paths: ["no"] }, { operation: "DELETE", object: null }],
    ["a status of an invalid resource", "Route", { paths: ["no"] }, { operation: "UPDATE", subResource: "status" }],
  ];
  for (const [what, kind, spec, more] of table)
    test(what, () => assert.deepEqual(ask(resource(kind, spec), more), { uid, allowed: true }));

  test("a core Service, which is not validated", () => {
    assert.deepEqual(ask({ apiVersion: "v1", kind: "Service", metadata: {}, spec: { ports: 7 } }), {
      uid,
      allowed: true,
    });
  });

  test("an object with generateName", () => {
    const { metadata: _, ...nameless } = resource("Route", paths);
    assert.equal(ask({ ...nameless, metadata: { generateName: "a-" } }, { name: undefined }).allowed, true);
  });
});

test("a missing required member of config is refused although Secrets provide other members", () => {
  const spec = { plugin: "rate-limiting", config: redis, configFrom: [{ path: "redis.password", secretRef }] };
  const { allowed, status } = ask(resource("Plugin", spec));
  assert.equal(allowed, false);
  assert.match(status?.message ?? "", /redis/);
});

test("a credential of a plugin that the operator does not have causes a warning, and is refused if it names no Secret", () => {
  const entry = { plugin: "nope", secretRef: { name: "s", key: "k" }, configFrom: [{ path: "pin", secretRef }] };
  const spec = { username: "bob", pluginCredentials: [entry] };
  assert.deepEqual(ask(resource("Consumer", spec)).warnings, [
    "spec.pluginCredentials[0].plugin: plugin 'nope' not enabled. Until the operator has this plugin (SLUICE_PLUGINS), " +
      "the credential is left out",
  ]);
  const { allowed } = ask(resource("Consumer", { username: "bob", pluginCredentials: [{ plugin: "nope" }] }));
  assert.equal(allowed, false);
});

test("a plugin that the operator does not have causes a warning, and other errors of its resource cause a refusal", () => {
  const consequence =
    "Until the operator has this plugin (SLUICE_PLUGINS), requests in its scope are answered with 503";
  const table: readonly (readonly [spec: object, expected: Partial<AdmissionResponse>])[] = [
    [
      { plugin: "oauth2" },
      {
        allowed: true,
        warnings: [
          "spec.plugin: plugin 'oauth2' not enabled: let an authorization server issue tokens, and verify them with the " +
            `plugin openid-connect. ${consequence}`,
        ],
      },
    ],
    [{ plugin: "nope" }, { allowed: true, warnings: [`spec.plugin: plugin 'nope' not enabled. ${consequence}`] }],
    [
      { plugin: "key-atuh", config: { any: 1 } },
      {
        allowed: true,
        warnings: [`spec.plugin: plugin 'key-atuh' not enabled, did you mean key-auth? ${consequence}`],
      },
    ],
    [
      { plugin: "oauth2", enabled: "no" },
      { allowed: false, status: { code: 422, message: "spec.enabled: expected a boolean" } },
    ],
  ];
  for (const [spec, expected] of table) assert.deepEqual(ask(resource("Plugin", spec)), { uid, ...expected });
});

test("a member without effect causes a warning, except for a refused resource", () => {
  const spec = { ...paths, regexPriority: 1, requestBuffering: true };
  assert.deepEqual(ask(resource("Route", spec)).warnings, [
    "spec.requestBuffering has no effect: request bodies always stream",
    "spec.regexPriority has no effect: no path is a regular expression (~/)",
  ]);
  assert.equal(ask(resource("Route", { ...spec, hosts: ["a b"] })).warnings, undefined);
});

describe("a review is refused if its body has", () => {
  const request = { uid, operation: "CREATE", object: resource("Service", url) };
  for (const [what, body, fault] of [
    ["the form of a list", [], /expected an AdmissionReview/],
    ["another kind", { kind: "ConversionReview" }, /expected an AdmissionReview/],
    [
      "another version",
      { apiVersion: "admission.k8s.io/v1beta1", kind: "AdmissionReview", request },
      /expected an AdmissionReview of admission\.k8s\.io\/v1, not of "admission\.k8s\.io\/v1beta1"/,
    ],
    ["no request", { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" }, /no request with a uid/],
    ["no uid", { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request: { object: {} } }, /with a uid/],
  ] as const)
    test(what, () => {
      const answer = reviewResource(body, options);
      assert.match("fault" in answer ? answer.fault : "", fault);
    });
});

test("reports the user of each allowed write of a resource, except dry runs", () => {
  const seen: unknown[] = [];
  const metadata = { name: "tried", uid: "u", generation: 3 };
  const reviewed = (request: object, spec: object = { paths: ["/users"] }) => {
    const object = { ...resource("Route", spec), metadata };
    const given = {
      uid,
      operation: "UPDATE",
      namespace: "default",
      object,
      userInfo: { username: "jane" },
      ...request,
    };
    const body = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request: given };
    reviewResource(body, { ...options, observeWrite: (write) => void seen.push(write) });
  };
  reviewed({});
  reviewed({ dryRun: true });
  reviewed({ userInfo: {} });
  reviewed({}, { paths: "/users" });
  const deletion = { operation: "DELETE", object: null };
  const oldObject = { ...resource("Route", { paths: "/users" }), metadata };
  reviewed({ ...deletion, oldObject });
  reviewed({ ...deletion, oldObject, dryRun: true });
  reviewed({ ...deletion, oldObject: resource("Route", {}) });
  assert.deepEqual(seen, [
    { uid: "u", generation: 3, user: "jane" },
    { uid: "u", generation: null, user: "jane" },
  ]);
});
