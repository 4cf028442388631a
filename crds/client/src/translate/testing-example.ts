/**
 * Example data for translation tests: the ids of a Service, a Route, a Consumer, a ConsumerGroup, a Certificate, a
 * CACertificate and an Upstream; Secrets; and a core Service.
 */
import { apiVersion, type ResourceKind } from "@sluice/model";
import { ellipticPair, firstKeyPair } from "../../../../tools/programs/pairs.ts";
import type { Resource } from "../resource.ts";
import type { TranslateOptions } from "./translation.ts";

export const SERVICE = "11111111-1111-4111-8111-111111111111";
export const ROUTE = "22222222-2222-4222-8222-222222222222";
export const CONSUMER = "33333333-3333-4333-8333-333333333333";
export const CERTIFICATE = "44444444-4444-4444-8444-444444444444";
export const AUTHORITY = "88888888-8888-4888-8888-888888888888";
export const GROUP = "77777777-7777-4777-8777-777777777777";
export const UPSTREAM = "55555555-5555-4555-8555-555555555555";
const created = "2026-11-21T08:00:00Z";
export const createdSeconds = Date.parse(created) / 1000;
const base64 = (value: string) => Buffer.from(value).toString("base64");

export const exampleResource = (kind: ResourceKind, spec: object, namespace = "home"): Resource => ({
  apiVersion,
  kind,
  metadata: { name: "mine", namespace, creationTimestamp: created },
  spec: spec as Resource["spec"],
});

const secret: Resource = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    name: "keys",
    namespace: "home",
    creationTimestamp: "2026-11-21T09:00:00Z",
    labels: { "sluice.dev/credential": "" },
  },
  data: { good: base64("demo-key"), broken: base64("demo-key\n"), host: base64("not a host"), empty: "" },
  stringData: { written: "from-a-file" },
};
/** A Secret of the type that cert-manager writes. */
const tls = (name: string, data: Readonly<Record<string, string>>): Resource => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, namespace: "home" },
  type: "kubernetes.io/tls",
  data: Object.fromEntries(Object.entries(data).map(([entry, text]) => [entry, base64(text)])),
});
const pair = { "tls.crt": firstKeyPair.cert, "tls.key": firstKeyPair.key };

const unlabelled: Resource = { ...secret, metadata: { ...secret.metadata, labels: {} } };
const coreService: Resource = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "users", namespace: "home" },
  spec: { ports: [{ name: "web", port: 4000 }] },
};

const known: Readonly<Record<string, string>> = {
  "Service/users": SERVICE,
  "Route/users": ROUTE,
  "Consumer/demo": CONSUMER,
  "ConsumerGroup/gold": GROUP,
  "Certificate/web": CERTIFICATE,
  "CACertificate/internal": AUTHORITY,
};
const objects: Readonly<Record<string, Resource>> = {
  "Secret/keys": secret,
  "Secret/unlabelled": unlabelled,
  "Secret/tls": tls("tls", pair),
  "Secret/both": tls("both", { ...pair, "tls-alt.crt": ellipticPair.cert, "tls-alt.key": ellipticPair.key }),
  "Secret/half": tls("half", { ...pair, "tls-alt.crt": ellipticPair.cert }),
  "Secret/keyless": tls("keyless", { "tls.crt": firstKeyPair.cert, "tls.key": "" }),
  "Secret/mixed": tls("mixed", { ...pair, "tls.key": ellipticPair.key }),
  "Secret/rubbish": tls("rubbish", { "tls.crt": "rubbish", "tls.key": "top secret" }),
  "Secret/mine-acme": tls("mine-acme", pair),
  "CoreService/users": coreService,
};
export const exampleOptions: TranslateOptions = {
  homeNamespace: "home",
  audience: "nodes",
  resolve: (kind, _, name) => known[`${kind}/${name}`],
  read: (kind, _, name) => objects[`${kind}/${name}`],
  isReferenceAllowed: () => false,
  namespacesOpenTo: () => [],
};

/** The spec of a consumer with one key, which is in the entry `key` of the Secret `name`. */
export const consumerWithKey = (key: string, name = "keys") => ({
  username: "demo",
  keyAuth: [{ secretRef: { name, key } }],
});
