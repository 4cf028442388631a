/** The Ingresses of all rows as resources, and the document that the operator makes of them. */
import type { Document } from "@sluice/model";
import { goldenOutcome, readResources } from "../../golden/outcome.ts";
import { configMaps, secrets } from "./objects.ts";
import type { IngressNotation, IngressRow } from "./row.ts";
import type { Servers } from "./servers.ts";

const PREFIX = "nginx.ingress.kubernetes.io/";
const creationTimestamp = "2026-01-01T00:00:00Z";

/** The namespace of all resources. */
const namespace = "conformance";

const metadataOf = (name: string, more: object = {}) => ({ name, namespace, creationTimestamp, ...more });

const backendOf = (name = "") => ({ service: { name, port: { number: 80 } } });

/** @param index The place in the row; a later Ingress is younger. */
function ingressResource(name: string, notation: IngressNotation, index: number): object {
  const { host = "HOST", annotations = {}, paths, defaultBackend, tls = false } = notation;
  const rule = {
    ...(host !== null && { host }),
    http: {
      paths: paths.map((line) => {
        const [pathType, path, backend] = line.split(" ");
        return { pathType, path, backend: backendOf(backend) };
      }),
    },
  };
  const prefixed = Object.entries(annotations).map(([key, value]) => [`${PREFIX}${key}`, value]);
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: metadataOf(name, {
      annotations: Object.fromEntries(prefixed),
      creationTimestamp: creationTimestamp.replace("00Z", `0${index}Z`),
    }),
    spec: {
      ingressClassName: "sluice",
      rules: [rule],
      ...(tls && { tls: [{ hosts: [host] }] }),
      ...(defaultBackend !== undefined && { defaultBackend: backendOf(defaultBackend) }),
    },
  };
}

/** A core Service with an EndpointSlice for each port. */
export const backendResources = (name: string, ports: readonly number[]): readonly object[] => [
  { apiVersion: "v1", kind: "Service", metadata: metadataOf(name), spec: { ports: [{ name: "http", port: 80 }] } },
  ...ports.map((port, index) => ({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: metadataOf(`${name}-${index}`, { labels: { "kubernetes.io/service-name": name } }),
    addressType: "IPv4",
    ports: [{ name: "http", port }],
    endpoints: [{ addresses: ["127.0.0.1"], conditions: { ready: true } }],
  })),
];

const objects = [
  ...Object.entries(secrets).map(([name, stringData]) => ({ kind: "Secret", metadata: metadataOf(name), stringData })),
  ...Object.entries(configMaps).map(([name, data]) => ({ kind: "ConfigMap", metadata: metadataOf(name), data })),
].map((object) => ({ apiVersion: "v1", ...object }));

/** The document, and the Events of the Ingresses. */
export function documentOfIngresses(
  rows: readonly (readonly [host: string, IngressRow])[],
  { backends }: Pick<Servers, "backends">,
): { readonly document: Document; readonly events: readonly string[] } {
  const withAddresses = (text: string): string =>
    Object.entries(backends).reduce((done, [name, [port]]) => {
      return done.replaceAll(new RegExp(`http://${name}(?=[/"?]|$)`, "gm"), `http://127.0.0.1:${port}`);
    }, text);
  const ingresses = rows.flatMap(([host, row]) =>
    row.ingresses.map((notation, index) => {
      const text = JSON.stringify(ingressResource(`${host}-${index}`, notation, index));
      return withAddresses(text.replaceAll("HOST", host));
    }),
  );
  const others = [...Object.entries(backends).flatMap(([name, ports]) => backendResources(name, ports)), ...objects];
  const { document, events } = goldenOutcome(
    readResources([...ingresses, ...others.map((one) => JSON.stringify(one))].join("\n---\n")),
  );
  return { document, events: [...events.values()].flat() };
}
