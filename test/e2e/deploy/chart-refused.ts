/** Values that the chart refuses before anything is created, each with a message that says what to change. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { charts, render, runHelm } from "./helm.ts";

const wrong: readonly (readonly [what: string, values: string, words: RegExp])[] = [
  ["an unknown name", "gateway.replica=3", /'\/gateway': additional properties 'replica'/],
  ["too few replicas", "gateway.replicas=-1", /'\/gateway\/replicas': minimum/],
  ["an unknown log level", "logLevel=loud", /'\/logLevel': value must be one of 'debug'/],
  ["a string instead of a list", "userApi.route.paths=/users", /'\/userApi\/route\/paths': got string, want array/],
  ["an invalid digest", "operator.image.digest=abc", /'\/operator\/image\/digest': 'abc' does not match/],
  ["an unknown member of resources", "gateway.resources.limit.memory=1Gi", /additional properties 'limit'/],
  ["a class that is not a valid label value", "class=A b", /'\/class': 'A b' does not match/],
  ["two ways to select namespaces", "namespaces={a},namespaceSelector=b=c", /set only one of them/],
  [
    "two sources of the addresses in statuses",
    "publishService.pathOverride=a/b,publishStatusAddress={192.0.2.1}",
    /set only one of them/,
  ],
  [
    "a Service in a namespace that the operator does not read",
    "publishService.pathOverride=edge/balancer,namespaces={shop}",
    /publishService\.pathOverride: the operator does not read the namespace edge: add it to namespaces/,
  ],
  ["an invalid name of an IngressClass", "ingressClass.name=Public", /'\/ingressClass\/name': 'Public' does not match/],
  [
    "a Service without its namespace",
    "publishService.pathOverride=balancer",
    /'\/publishService\/pathOverride': 'balan/,
  ],
  [
    "an address with a port",
    "publishStatusAddress={a.example:80}",
    /'\/publishStatusAddress\/0': 'a\.example:80' does/,
  ],
  [
    "an empty range of ports for Gateways",
    "gatewayApi.firstPort=12000",
    /gatewayApi\.firstPort: must be at most gatewayApi\.lastPort \(10999\), not 12000/,
  ],
  [
    "a port for connections that is one of the ports for Gateways",
    "gateway.streams[0].name=a,gateway.streams[0].port=10999,gateway.streams[0].servicePort=5432,gateway.streams[0].tls=false",
    /gateway\.streams\[0\]\.port: 10999 is one of the ports that nodes open for Gateways \(gatewayApi\.firstPort 10000 to lastPort 10999\): choose/,
  ],
  ["two databases", "postgres.enabled=true,postgres.existingSecret=x", /postgres.*: set only one of them/],
  ["two Redis servers", "redis.enabled=true,redis.host=x", /redis.*: set only one of them/],
  ["Kubernetes tokens without a ClusterRole", "namespaces={a},admin.kubernetes=true", /requires a ClusterRole/],
  ["replicas without a shared database", "userApi.replicas=2", /requires a Postgres server/],
  [
    "a route without the user API",
    "userApi.enabled=false,userApi.route.enabled=true",
    /the route requires the user API/,
  ],
  [
    "a minimum above the maximum",
    "gateway.autoscaling.enabled=true,gateway.autoscaling.minReplicas=11",
    /minReplicas is more than maxReplicas/,
  ],
  [
    "a variable that the chart sets from a value",
    "gateway.env.SLUICE_LOG_LEVEL=debug",
    /: gateway\.env\.SLUICE_LOG_LEVEL: logLevel sets this variable: set that instead/,
  ],
  [
    "a variable that comes from a Secret",
    "admin.env.SLUICE_ADMIN_TOKEN=x",
    /: admin\.env\.SLUICE_ADMIN_TOKEN: admin\.existingSecret sets/,
  ],
  [
    "a variable that contradicts a value",
    "redis.host=b,userApi.env.SLUICE_USER_API_REDIS_URL=redis://a",
    /SLUICE_USER_API_REDIS_URL: redis\.host sets/,
  ],
  [
    "a variable that other objects rely on",
    "operator.env.SLUICE_IDENTITY=a",
    /: operator\.env\.SLUICE_IDENTITY: this variable is the chart's own: other objects rely on it/,
  ],
  [
    "an image of a plugin without a digest",
    "plugins.images={acme/x:1}",
    /: plugins\.images\[0\]: expected a reference with a digest, such as .*, not acme\/x:1: a tag may name other code later/,
  ],
  [
    "an image of a plugin with a short digest",
    "plugins.images={acme/x@sha256:12}",
    /: plugins\.images\[0\]: expected a reference with a digest, such as .*, not acme\/x@sha256:12:/,
  ],
  ["an image of a plugin twice", "plugins.images={a,a}", /'\/plugins\/images': items at 0 and 1 are equal/],
  [
    "the variable SLUICE_PLUGINS in addition to images of plugins",
    `plugins.images={acme/x@sha256:${"0".repeat(64)}},operator.env.SLUICE_PLUGINS=@acme/y`,
    /: operator\.env\.SLUICE_PLUGINS: plugins\.images sets this variable: set that instead/,
  ],
  [
    "a label that selects pods",
    "labels.app\\.kubernetes\\.io/name=shop",
    /: labels\.app\.kubernetes\.io\/name: this label is the chart's own: other objects rely on it/,
  ],
];

const tooLong = "because a label of its pods is derived from it";

/** Names of releases that Helm itself accepts. */
const names: readonly (readonly [name: string, values: string, words: RegExp])[] = [
  [
    "a.b",
    "",
    /the release's name a\.b cannot be a prefix of Service names: it must consist of lower-case letters, digits and -/,
  ],
  ["2024", "", /the release's name 2024 cannot be a prefix of Service names/],
  [
    "a".repeat(49),
    "",
    /the release's name a+ is too long: 48 characters at most, because names of Services are derived from it/,
  ],
  ["a".repeat(47), "redis.enabled=true", new RegExp(`too long: 46 characters at most with redis.enabled, ${tooLong}`)],
  [
    "a".repeat(44),
    "postgres.enabled=true",
    new RegExp(`too long: 43 characters at most with postgres.enabled, ${tooLong}`),
  ],
  ["a".repeat(44), "postgres.enabled=true,redis.enabled=true", /43 characters at most with postgres\.enabled/],
];

const template = (name: string, values: string) => runHelm(["template", name, charts.sluice, "--set", values]);

export function refusedValues(): void {
  for (const [what, values, words] of wrong)
    test(`are refused with a message: ${what}`, () => assert.rejects(render({ values: ["--set", values] }), words));

  for (const [name, values, words] of names)
    test(`are refused with a message: the name ${name}${values && ` with ${values}`}`, async () => {
      const { code, stderr } = await template(name, values);
      assert.equal(code, 1);
      assert.match(stderr, words);
    });

  test("are refused with a message: image volumes on a version of Kubernetes without them", () => {
    const values = `plugins.imageVolumes=true,plugins.images={acme/x@sha256:${"0".repeat(64)}}`;
    const words =
      /: plugins\.imageVolumes: image volumes need Kubernetes 1\.33 or newer, and this is v1\.32\.1: set it to/;
    return assert.rejects(render({ values: ["--kube-version", "1.32.1", "--set", values] }), words);
  });

  for (const [length, values] of [
    [48, ""],
    [46, "redis.enabled=true"],
    [43, "postgres.enabled=true,redis.enabled=true"],
  ] as const)
    test(`are accepted: a name of ${length} characters${values && ` with ${values}`}`, async () => {
      const { code, stderr } = await template("a".repeat(length), values);
      assert.equal(code, 0, stderr);
    });
}
