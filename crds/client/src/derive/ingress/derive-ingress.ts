/**
 * Derives Sluice resources from an Ingress: a Route for each of its paths, a Service for each of its backends, and
 * Plugins for its annotations. Pure.
 */
import type { Resource } from "../../resource.ts";
import { type DerivedContent, type DerivedResource, derivedName, derivedResource } from "../derived-resource.ts";
import { annotationPath } from "./annotations/annotations.ts";
import type { IngressEffects, PluginEffect } from "./annotations/effects.ts";
import { translateAnnotations } from "./annotations/ingress-effects.ts";
import { tlsHostsOf } from "./derive-certificate.ts";
import { appRootRoute, type RedirectRoute, wwwRoute } from "./host-redirects.ts";
import { matchOf, regexMatchOf } from "./ingress-path.ts";
import {
  type IngressBackend,
  type IngressPath,
  ingressHostsOf,
  ingressSpecOf,
  wwwCounterpart,
} from "./ingress-spec.ts";

/** A problem with a field of an Ingress. */
export interface IngressProblem {
  /** A word in CamelCase for programs. */
  readonly reason: string;
  /** Starts with the path of the field. */
  readonly message: string;
}

export interface DerivedIngress {
  readonly resources: readonly DerivedResource[];
  readonly problems: readonly IngressProblem[];
}

export interface DeriveIngressOptions {
  /** The class of the installation. */
  readonly class: string;
  /** An object in the namespace of the Ingress; undefined when there is none. */
  readonly read: (kind: "CoreService" | "Secret" | "ConfigMap", name: string) => Resource | undefined;
  /** Whether an Ingress has a rule for the host. */
  readonly hasHost: (host: string) => boolean;
  /** Whether an Ingress uses regular expressions for paths of the host; then all paths of the host are such. */
  readonly hasRegexPaths: (host: string | undefined) => boolean;
}

/** A path of a rule, or the default backend for a host. */
interface IngressEntry extends IngressPath {
  readonly host: string | undefined;
  /** The path of the entry, and that of its backend, in the Ingress. */
  readonly source: string;
  readonly backendSource: string;
}

/** The status of the redirect from http to https. */
const HTTPS_REDIRECT = 308;

/** Where ACME servers ask for the answers to challenges, by plain http (RFC 8555, section 8.3). */
const CHALLENGES = "/.well-known/acme-challenge";

export function deriveIngress(ingress: Resource, options: DeriveIngressOptions): DerivedIngress {
  const { name } = ingress.metadata;
  const { effects, problems: faults, closed } = translateAnnotations(ingress, options.read);
  const problems: IngressProblem[] = [...faults];
  const contents = new Map<string, DerivedContent>();
  const secureHosts = tlsHostsOf(ingress);
  for (const entry of entriesOf(ingress, effects)) {
    const port = portOf(entry, options);
    const fault = typeof port === "object" ? port : null;
    if (fault && !effects.redirect) problems.push(fault);
    const unavailable = closed ?? (effects.redirect ? undefined : fault?.message);
    const service = effects.redirect || fault ? undefined : serviceName(name, entry.backend);
    if (typeof port === "number" && service !== undefined) add(serviceContent(ingress, entry, { port, effects }));
    const route = freeName(
      derivedName("ingress", name, entry.host ?? "any", `${words[entry.pathType]}${slugOf(entry.path)}`),
    );
    add({
      kind: "Route",
      name: route,
      spec: routeSpec(entry, service),
      derived: {
        extras: { priority: match(entry).priority, ...(unavailable !== undefined && { unavailable }) },
        sourcePaths: { spec: entry.source, "spec.serviceRef": entry.backendSource },
      },
    });
    for (const effect of effects.redirect ? [effects.redirect] : effects.plugins) add(pluginContent(route, effect));
  }
  for (const host of ingressHostsOf(ingress)) if (host !== undefined) addHostRedirects(host);
  return { resources: [...contents.values()].map((content) => derivedResource(ingress, content)), problems };

  function add(content: DerivedContent): void {
    contents.set(`${content.kind} ${content.name}`, {
      ...content,
      spec: { ...content.spec, class: options.class },
    });
  }

  function addHostRedirects(host: string): void {
    const { appRoot, redirectsWww } = effects;
    if (appRoot !== null) addRedirectRoute(appRootRoute(host, appRoot));
    if (redirectsWww && !options.hasHost(wwwCounterpart(host)))
      addRedirectRoute(wwwRoute(host, isSecure(host) ? "https" : "http"));
  }

  function addRedirectRoute({ host, part, paths, priority, redirect }: RedirectRoute): void {
    const route = derivedName("ingress", name, host, part);
    const source = annotationPath(redirect.annotation);
    add({
      kind: "Route",
      name: route,
      spec: { hosts: [host], paths },
      derived: { extras: { priority }, sourcePaths: { spec: source } },
    });
    add(pluginContent(route, redirect));
  }

  function isSecure(host: string | undefined): boolean {
    return effects.redirectsToHttps ?? secureHosts.has(host);
  }

  /** Different paths may have the same slug. */
  function freeName(stem: string): string {
    return contents.has(`Route ${stem}`) ? `${stem}~${contents.size}` : stem;
  }

  function match(entry: IngressEntry) {
    return options.hasRegexPaths(entry.host) ? regexMatchOf(entry) : matchOf(entry);
  }

  function routeSpec(entry: IngressEntry, service: string | undefined): DerivedContent["spec"] {
    const { host, path } = entry;
    const [plain, secure] = effects.grpc ? ["grpc", "grpcs"] : ["http", "https"];
    return {
      ...(host !== undefined && { hosts: [host] }),
      paths: match(entry).paths,
      protocols: isSecure(host) && !path.startsWith(CHALLENGES) ? [secure] : [plain, secure],
      httpsRedirectStatusCode: HTTPS_REDIRECT,
      stripPath: false,
      preserveHost: true,
      ...(service !== undefined && { serviceRef: { name: service } }),
    };
  }
}

interface ServiceOptions {
  readonly port: number;
  readonly effects: IngressEffects;
}

function serviceContent(
  { metadata }: Resource,
  { backend, backendSource }: IngressEntry,
  { port, effects }: ServiceOptions,
): DerivedContent {
  const name = backend.service?.name;
  const address = effects.toClusterAddress
    ? { host: `${name}.${metadata.namespace}.svc`, port }
    : { backendRef: { name, port } };
  return {
    kind: "Service",
    name: serviceName(metadata.name, backend),
    spec: { ...effects.service, ...address },
    derived: { sourcePaths: { spec: `${backendSource}.service` } },
  };
}

const pluginContent = (route: string, { plugin, config, annotation }: PluginEffect): DerivedContent => ({
  kind: "Plugin",
  name: `${route}~${plugin}`,
  spec: { plugin, config, targetRefs: [{ kind: "Route", name: route }] },
  derived: { sourcePaths: { spec: annotationPath(annotation) } },
});

/**
 * The paths of all rules, for their hosts and for the aliases of these. The default backend serves the other paths of
 * all hosts; without rules, it serves all requests. Of two entries for the same path, the first is used.
 */
function entriesOf(ingress: Resource, { aliases }: IngressEffects): readonly IngressEntry[] {
  const { rules = [], defaultBackend } = ingressSpecOf(ingress);
  const entries = rules.flatMap(({ host, http }, ruleIndex) =>
    (http?.paths ?? []).flatMap((given, index): readonly IngressEntry[] => {
      const source = `spec.rules[${ruleIndex}].http.paths[${index}]`;
      const entry = { ...given, path: given.path || "/", source, backendSource: `${source}.backend` };
      return [host, ...(host === undefined ? [] : aliases)].map((name) => ({ ...entry, host: name }));
    }),
  );
  const source = "spec.defaultBackend";
  const rest = (host: string | undefined, backend: IngressBackend): IngressEntry => {
    return { host, path: "/", pathType: "Prefix", backend, source, backendSource: source };
  };
  const all = defaultBackend
    ? [...entries, ...[...ingressHostsOf(ingress)].map((host) => rest(host, defaultBackend))]
    : entries;
  const kinds = Map.groupBy(all, ({ host, path, pathType }) => JSON.stringify([host, path, pathType === "Exact"]));
  return [...kinds.values()].flatMap(([first]) => first ?? []);
}

/** The number of the backend's port. */
function portOf({ backend, backendSource }: IngressEntry, options: DeriveIngressOptions): number | IngressProblem {
  const { service, resource } = backend;
  if (!service) {
    const message = `${backendSource}.resource: a backend of the kind ${resource?.kind} is not supported: use a service`;
    return { reason: "UnsupportedBackend", message };
  }
  const { number, name } = service.port ?? {};
  if (number !== undefined) return number;
  const ports = options.read("CoreService", service.name)?.spec?.ports;
  const found = (Array.isArray(ports) ? ports : []).find((port) => Object(port).name === name);
  if (found) return Number(Object(found).port);
  const message = `${backendSource}.service.port.name: there is no core Service ${service.name} with a port ${name}`;
  return { reason: "BackendNotFound", message };
}

const serviceName = (ingress: string, { service }: IngressBackend): string =>
  derivedName("ingress", ingress, "service", service?.name ?? "", String(service?.port?.number ?? service?.port?.name));

const words = { Exact: "exact", Prefix: "prefix", ImplementationSpecific: "prefix" } as const;

const MAX_SLUG = 100;

/** The path as a part of a name: `/api/v1` -> `~api~v1`. */
const slugOf = (path: string): string =>
  path
    .slice(0, MAX_SLUG)
    .replace(/[^\w.~/]+/g, "-")
    .replaceAll("/", "~");
