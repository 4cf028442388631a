import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "@sluice/crds";
import { TLS_SECRET_TYPE } from "@sluice/model";
import { first } from "../../../../tools/programs/pairs.ts";
import { deriveScene } from "../testing-derive-stage.ts";

const metadata = (name: string) => ({ name, namespace: "shop", uid: name, creationTimestamp: "2026-01-01T00:00:00Z" });

const gateway = (frontend?: object): Resource => ({
  apiVersion: "gateway.networking.k8s.io/v1",
  kind: "Gateway",
  metadata: metadata("web"),
  spec: {
    gatewayClassName: "sluice",
    listeners: [{ name: "tls", port: 443, protocol: "HTTPS", tls: { certificateRefs: [{ name: "cert" }] } }],
    ...(frontend && { tls: { frontend } }),
  },
});

const certificate: Resource = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: metadata("cert"),
  type: TLS_SECRET_TYPE,
  data: { "tls.crt": btoa(first.cert), "tls.key": btoa(first.key) },
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
  observer?.replaced([authorities(first.cert)]);
  assert.equal(listener()?.client_validation?.mode, "required");
  assert.ok(reportedAsMeaningful().includes("Gateway/shop/web"));
  observer?.changed(authorities("none"));
  assert.equal(listener(), undefined, "a listener that would be open to everyone is closed");
  observer?.changed(authorities(first.cert));
  assert.ok(listener());
  apply([gateway()]);
  assert.equal(listener()?.client_validation, undefined);
  assert.equal(observers.size, 0);
});
