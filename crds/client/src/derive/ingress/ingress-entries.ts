/** The paths of an Ingress, each with its host and its backend. */
import type { Resource } from "../../resource.ts";
import {
  type IngressBackend,
  type IngressPath,
  type IngressProblem,
  ingressHostsOf,
  ingressSpecOf,
} from "./ingress-spec.ts";

/** A path of a rule, or the default backend for a host. */
export interface IngressEntry extends IngressPath {
  readonly host: string | undefined;
  /** The host of the rule, which differs from the host for an alias. */
  readonly ruleHost: string | undefined;
  /** The path of the entry, and that of its backend, in the Ingress. */
  readonly source: string;
  readonly backendSource: string;
}

/**
 * The paths of all rules, for their hosts and for the aliases of these. The default backend serves the other paths of
 * all hosts; without rules, it serves all requests. Of two entries for the same path, the first is used.
 */
export function ingressEntries(ingress: Resource, aliases: readonly string[]): readonly IngressEntry[] {
  const { rules = [], defaultBackend } = ingressSpecOf(ingress);
  const namesOf = (host: string | undefined) => [host, ...(host === undefined ? [] : aliases)];
  const entries = rules.flatMap(({ host, http }, ruleIndex) =>
    (http?.paths ?? []).flatMap((given, index): readonly IngressEntry[] => {
      const source = `spec.rules[${ruleIndex}].http.paths[${index}]`;
      const entry = { ...given, path: given.path || "/", ruleHost: host, source, backendSource: `${source}.backend` };
      return namesOf(host).map((name) => ({ ...entry, host: name }));
    }),
  );
  const source = "spec.defaultBackend";
  const rest = (ruleHost: string | undefined, backend: IngressBackend): readonly IngressEntry[] =>
    namesOf(ruleHost).map((host) => {
      return { host, ruleHost, path: "/", pathType: "Prefix", backend, source, backendSource: source };
    });
  const hosts = defaultBackend ? [...ingressHostsOf(ingress)] : [];
  const all = [...entries, ...hosts.flatMap((host) => rest(host, defaultBackend ?? {}))];
  const kinds = Map.groupBy(all, ({ host, path, pathType }) => JSON.stringify([host, path, pathType === "Exact"]));
  return [...kinds.values()].flatMap(([first]) => first ?? []);
}

/** A port of a core Service. */
export interface CoreServicePort {
  readonly name: string;
  readonly port: number;
}

/**
 * The core Service and the number of the port of a backend.
 *
 * @param read Returns a core Service in the namespace of the Ingress; undefined: there is none.
 */
export function backendPortOf(
  { service, resource }: IngressBackend,
  source: string,
  read: (name: string) => Resource | undefined,
): CoreServicePort | IngressProblem {
  if (!service) {
    const message = `${source}.resource: a backend of the kind ${resource?.kind} is not supported: use a service`;
    return { reason: "UnsupportedBackend", message };
  }
  const { number, name } = service.port ?? {};
  if (number !== undefined) return { name: service.name, port: number };
  const ports = read(service.name)?.spec?.ports;
  const found = (Array.isArray(ports) ? ports : []).find((port) => Object(port).name === name);
  if (found) return { name: service.name, port: Number(Object(found).port) };
  const message = `${source}.service.port.name: there is no core Service ${service.name} with a port ${name}`;
  return { reason: "BackendNotFound", message };
}
