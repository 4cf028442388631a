import {
  type CrdRow,
  commonSpecRows,
  lengthRows,
  listLengthRows,
  referenceRows,
  texts,
  validSecretRef,
} from "./row.ts";

const cors = { plugin: "cors" };
/** rate-limiting, which may be attached to Consumers, with the targets. */
const foreign = (...targets: readonly object[]) => ({
  plugin: "rate-limiting",
  targetRefs: targets.map((target) => ({ name: "a", ...target })),
});
const from = (member: object) => ({ ...cors, configFrom: [{ path: "a", secretRef: validSecretRef, ...member }] });

export const pluginRows: readonly CrdRow[] = [
  ...commonSpecRows(cors),
  ["a plugin that comes with Sluice", cors, null],
  ["a plugin that only the operator can know", { plugin: "my-plugin-2" }, null],
  ...["My-Plugin", "my_plugin", "-plugin", "plugin-", "my--plugin", "a plugin"].map(
    (name): CrdRow => [`the plugin name ${name}`, { plugin: name }, /spec\.plugin.*should match/],
  ),
  ...lengthRows("plugin name", { from: 1, to: 64 }, (name) => ({ plugin: name })),
  ["no plugin name", { config: {} }, /spec\.plugin: Required value/],
  ["a config that only the webhook and the operator check", { ...cors, config: { a: { b: [1, "c", null] } } }, null],
  ["a config that is a list", { ...cors, config: [] }, /spec\.config.*must be of type object/],
  ["a config that is a string", { ...cors, config: "a" }, /spec\.config.*must be of type object/],
  ...lengthRows("instanceName", { from: 1, to: 256 }, (instanceName) => ({ ...cors, instanceName })),
  ["enabled as a string", { ...cors, enabled: "yes" }, /must be of type boolean/],
  ["four protocols", { ...cors, protocols: ["http", "https", "grpc", "grpcs"] }, null],
  ["no protocols", { ...cors, protocols: [] }, /at least 1 items/],
  ["an unknown protocol", { ...cors, protocols: ["ftp"] }, /Unsupported value/],

  [
    "one target of each kind",
    { plugin: "rate-limiting", targetRefs: ["Service", "Route", "Consumer"].map((kind) => ({ kind, name: "a" })) },
    null,
  ],
  ...["Service", "Route"].map(
    (kind): CrdRow => [`a ${kind} as target`, { ...cors, targetRefs: [{ kind, name: "a" }] }, null],
  ),
  ...referenceRows("a target", (ref) => ({ ...cors, targetRefs: [{ kind: "Route", ...ref }] })),
  ["an HTTPRoute and a Consumer as targets", foreign({ kind: "HTTPRoute" }, { kind: "Consumer" }), null],
  ["a Gateway with its API group as target", foreign({ kind: "Gateway", group: "gateway.networking.k8s.io" }), null],
  [
    "an Ingress and a Service as targets",
    foreign({ kind: "Ingress" }, { kind: "Service" }),
    /can only be combined with/,
  ],
  ["two foreign targets", foreign({ kind: "Ingress" }, { kind: "GRPCRoute" }), /can only be combined with/],
  ["an Ingress of another namespace as target", foreign({ kind: "Ingress", namespace: "b" }), /remove namespace/],
  [
    "two targets of one kind",
    { ...cors, targetRefs: ["a", "b"].map((name) => ({ kind: "Route", name })) },
    /spec\.targetRefs\[1\]: Duplicate value/,
  ],
  ["a target of an unknown kind", { ...cors, targetRefs: [{ kind: "Pod", name: "a" }] }, /Unsupported value: "Pod"/],
  ["a target without a kind", { ...cors, targetRefs: [{ name: "a" }] }, /targetRefs\[0\]\.kind: Required value/],
  ...["cors", "key-auth"].map(
    (name): CrdRow => [
      `${name} on a Consumer`,
      { plugin: name, targetRefs: [{ kind: "Consumer", name: "a" }] },
      new RegExp(`${name}\\b.* cannot be attached to a Consumer`),
    ],
  ),

  ["a config member from a Secret", from({ path: "redis.password" }), null],
  [
    "the same config member twice",
    { ...cors, configFrom: [1, 2].map(() => ({ path: "a", secretRef: validSecretRef })) },
    /Duplicate value/,
  ],
  ["a config path with capitals", from({ path: "A" }), /configFrom\[0\]\.path/],
  ["a config path that ends in a dot", from({ path: "a." }), /configFrom\[0\]\.path/],
  ["an empty config path", from({ path: "" }), /configFrom\[0\]\.path/],
  ...lengthRows("config path", { to: 256 }, (path) => from({ path })),
  ["a configFrom item without a secretRef", { ...cors, configFrom: [{ path: "a" }] }, /secretRef: Required value/],
  ["a secretRef without a key", from({ secretRef: { name: "a" } }), /secretRef\.key: Required value/],
  ["a secretRef whose key has a slash", from({ secretRef: { name: "a", key: "a/b" } }), /secretRef\.key/],
  ...listLengthRows("config members from Secrets", { to: 16 }, (count) => ({
    ...cors,
    configFrom: texts(count).map((path) => ({ path, secretRef: validSecretRef })),
  })),
];
