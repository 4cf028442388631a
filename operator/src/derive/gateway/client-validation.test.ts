import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "@sluice/crds";
import { TLS_SECRET_TYPE } from "@sluice/model";
import { firstKeyPair } from "../../../../tools/programs/pairs.ts";
import { deriveScene } from "../testing-derive-stage.ts";

const metadata = (name: string) => ({ name, namespace: "shop", uid: name, creationTimestamp: "2026-01-01T00:00:00Z" });

const listenerOfGateway = { name: "tls", port: 443, protocol: "HTTPS", tls: { certificateRefs: [{ name: "cert" }] } };

const gateway = (frontend?: object): Resource => ({
  apiVersion: "gateway.networking.k8s.io/v1",
  kind: "Gateway",
  metadata: metadata("web"),
  spec: {
    gatewayClassName: "sluice",
    listeners: [listenerOfGateway],
    ...(frontend && { tls: { frontend } }),
  },
});

const certificate: Resource = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: metadata("cert"),
  type: TLS_SECRET_TYPE,
  data: { "tls.crt": btoa(firstKeyPair.cert), "tls.key": btoa(firstKeyPair.key) },
};

const authorities = (text: string): Resource => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: metadata("clients"),
  data: { "ca.crt": text },
});

test("a Gateway that newly names a ConfigMap stays as it was until the ConfigMap has been read", () => {
  const { apply, derive, observers, reportedAsMeaningful } = deriveScene();
  const listener = () => derive.gateway.listeners().get("shop/web/tls");
  apply([certificate, gateway()]);
  const caCertificateRefs = [{ group: "", kind: "ConfigMap", name: "clients" }];
  apply([gateway({ default: { validation: { caCertificateRefs } } })]);
  assert.equal(listener()?.client_validation, undefined);
  assert.deepEqual(derive.unsynced(), ["ConfigMap/shop/clients"]);
  const observer = observers.get("ConfigMap shop metadata.name=clients");
  observer?.replaced([authorities(firstKeyPair.cert)]);
  assert.equal(listener()?.client_validation?.mode, "required");
  assert.ok(reportedAsMeaningful().includes("Gateway/shop/web"));
  observer?.changed(authorities("none"));
  assert.equal(listener(), undefined, "a listener that would be open to everyone is closed");
  observer?.changed(authorities(firstKeyPair.cert));
  assert.ok(listener());
  apply([gateway()]);
  assert.equal(listener()?.client_validation, undefined);
  assert.equal(observers.size, 0);
});

test("a ListenerSet that leaves a Gateway which waits for a ConfigMap belongs to its new Gateway alone", () => {
  const { apply, derive, observers } = deriveScene();
  const named = (one: Resource, name: string): Resource => ({ ...one, metadata: metadata(name) });
  const allowing = (one: Resource): Resource => ({
    ...one,
    spec: { ...one.spec, allowedListeners: { namespaces: { from: "Same" } } },
  });
  const [old, next] = [allowing(gateway()), named(allowing(gateway()), "next")];
  const caCertificateRefs = [{ group: "", kind: "ConfigMap", name: "clients" }];
  const waiting = allowing(gateway({ default: { validation: { caCertificateRefs } } }));
  const set = (parent: string): Resource => ({
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "ListenerSet",
    metadata: metadata("set"),
    spec: { parentRef: { name: parent }, listeners: [{ ...listenerOfGateway, hostname: "set.test" }] },
  });
  const owner = () => derive.gateway.listenerSets.get("shop/set")?.listeners[0]?.id;
  const certificates = () => [...derive.clusterState.Certificate.keys()].filter((key) => key.includes("listener-set"));
  apply([certificate, old, next, set("web")]);
  assert.equal(owner(), "shop/web/shop/set/tls");
  apply([waiting]);
  // The new Gateway is derived first.
  apply([next, set("next")]);
  assert.equal(owner(), "shop/next/shop/set/tls");
  assert.equal(certificates().length, 1);
  apply([waiting]);
  assert.equal(owner(), "shop/next/shop/set/tls");
  assert.equal(derive.gateway.listeners().has("shop/web/shop/set/tls"), false);
  observers.get("ConfigMap shop metadata.name=clients")?.replaced([authorities(firstKeyPair.cert)]);
  assert.equal(owner(), "shop/next/shop/set/tls");
  assert.equal(certificates().length, 1);
});

test("certificates of an unchanged Secret are not read again, and authorities once for all listeners of a port", () => {
  const { apply, derive, observers } = deriveScene();
  let reads = 0;
  const counted = ({ data, ...rest }: Resource): Resource =>
    Object.defineProperty(rest as Resource, "data", {
      get() {
        reads += 1;
        return data;
      },
    });
  const caCertificateRefs = [{ group: "", kind: "ConfigMap", name: "clients" }];
  const waiting = gateway({ default: { validation: { caCertificateRefs } } });
  const listeners = ["a", "b", "c"].map((name) => ({ ...listenerOfGateway, name, hostname: `${name}.test` }));
  apply([counted(certificate), { ...waiting, spec: { ...waiting.spec, listeners } }]);
  assert.equal(reads, 4, "each entry of the Secret is read once");
  observers.get("ConfigMap shop metadata.name=clients")?.replaced([counted(authorities(firstKeyPair.cert))]);
  assert.equal(reads, 5, "the ConfigMap is read once");
  assert.equal(derive.gateway.listeners().size, 3);
});
