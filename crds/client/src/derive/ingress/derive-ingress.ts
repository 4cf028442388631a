/**
 * Derives Sluice resources from an Ingress: a Route for each of its paths, a Service for each of its backends, and
 * Plugins for its annotations. Pure.
 */
import { TLS_SECRET_TYPE, tlsEntries } from "@sluice/model";
import { namespacedName } from "../../keys.ts";
import type { Resource } from "../../resource.ts";
import { type DerivedContent, derivedName, derivedResource, derivedSecret, shortHash } from "../derived-resource.ts";
import { serviceContents } from "../derived-services.ts";
import { annotationPath, annotationsOf } from "./annotations/annotations.ts";
import type { PluginEffect } from "./annotations/effects.ts";
import { translateAnnotations } from "./annotations/ingress-effects.ts";
import { type ClientCertificates, requiresCertificates } from "./annotations/protection/client-certificates.ts";
import { effectOnPath } from "./annotations/transforms.ts";
import { type CanaryBackend, canaryFor, canaryRulesOf, isCanary } from "./canary.ts";
import { tlsHostsOf, tlsSecretsOf } from "./derive-certificate.ts";
import { appRootRoute, wwwRoute } from "./host-redirects.ts";
import { backendPortOf, type CoreServicePort, type IngressEntry, ingressEntries } from "./ingress-entries.ts";
import { matchOf, type PathMatch, regexMatchOf } from "./ingress-path.ts";
import { type IngressProblem, ingressHostsOf, wwwCounterpart } from "./ingress-spec.ts";

export interface DerivedIngress {
  /** Derived resources, and Secrets to which they refer. */
  readonly resources: readonly Resource[];
  readonly problems: readonly IngressProblem[];
}

/** Facts about the other resources. A host is undefined for rules without a host. */
export interface DeriveIngressOptions {
  /** The class of the installation. */
  readonly class: string;
  /** An object in the namespace of the Ingress; undefined when there is none. */
  readonly read: (kind: "CoreService" | "Secret" | "ConfigMap", name: string) => Resource | undefined;
  /** Whether an Ingress that is not a canary has a rule for the host. */
  readonly hasHost: (host: string | undefined) => boolean;
  /** Whether an Ingress uses regular expressions for paths of the host; then all paths of the host are treated so. */
  readonly hasRegexPaths: (host: string | undefined) => boolean;
  /** Whether an Ingress has TLS for the host. */
  readonly hasTls: (host: string | undefined) => boolean;
  /** What the oldest Ingress that requires certificates for the host requires; undefined: there is none. */
  readonly clientCertificatesOf: (host: string | undefined) => ClientCertificates | undefined;
  /** The canaries with a rule for the host, in the namespace of the Ingress, the oldest first. */
  readonly canariesOf: (host: string | undefined) => readonly Resource[];
}

/** The status of the redirect from http to https. */
const HTTPS_REDIRECT = 308;

/** Where ACME servers ask for the answers to challenges, by plain http (RFC 8555, section 8.3). */
const CHALLENGES = "/.well-known/acme-challenge";

interface UsableCanary extends CanaryBackend {
  readonly port: CoreServicePort;
}

/** A Route with the plugins of the Ingress. */
interface RouteRequest {
  readonly name: string;
  readonly spec: DerivedContent["spec"];
  readonly priority: number;
  readonly source: string;
  readonly plugins: readonly PluginEffect[];
  readonly unavailable?: string | undefined;
}

/** Why an Ingress cannot be read; undefined for every Ingress that an API server has validated. */
export function shapeFaultOf(ingress: Resource): string | undefined {
  try {
    deriveIngress(ingress, {
      class: "",
      read: () => undefined,
      hasHost: () => false,
      hasRegexPaths: () => false,
      hasTls: () => false,
      clientCertificatesOf: () => undefined,
      canariesOf: () => [],
    });
    for (const host of [...ingressHostsOf(ingress), ...tlsHostsOf(ingress), ...tlsSecretsOf(ingress)])
      if (host !== undefined && typeof host !== "string") return "a host or the name of a Secret is not a string";
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

export function deriveIngress(ingress: Resource, options: DeriveIngressOptions): DerivedIngress {
  if (isCanary(ingress)) return { resources: [], problems: canaryProblems(ingress, options) };
  const { name } = ingress.metadata;
  const { effects, problems: faults, closed } = translateAnnotations(ingress, options.read);
  const problems: IngressProblem[] = [...faults];
  const contents = new Map<string, DerivedContent>();
  const secrets = new Map<string, Resource>();
  // Another Ingress may have a rule for an alias; its rules are used, as in ingress-nginx.
  const aliases = effects.aliases.filter((alias) => !options.hasHost(alias));
  for (const entry of ingressEntries(ingress, aliases)) addEntry(entry);
  for (const host of ingressHostsOf(ingress)) {
    if (host !== undefined) addHostRedirects(host);
    addCertificateProblem(host);
  }
  const resources = [...contents.values()].map((content) => derivedResource(ingress, content));
  return { resources: [...secrets.values(), ...resources], problems };

  function addEntry(entry: IngressEntry): void {
    const { ruleHost, source, backend, backendSource } = entry;
    const match = options.hasRegexPaths(ruleHost) ? regexMatchOf(entry) : matchOf(entry);
    const certificates = match.path.startsWith(CHALLENGES) ? undefined : options.clientCertificatesOf(ruleHost);
    const verification = certificates?.plugin ?? [];
    const request = {
      name: routeName(entry),
      priority: match.priority,
      source,
      unavailable: closed ?? certificates?.closed,
    };
    const spec = matchSpec(entry.host, match, certificates);
    const { redirect } = effects;
    const own = effects.plugins.flatMap((effect) => effectOnPath(effect, match.path));
    const plugins = [verification, own, mirrorPlugin() ?? []].flat();
    if (match.fault !== undefined) {
      const message = `${source}.path: ${match.fault}; requests that may match it are answered with 503`;
      problems.push({ reason: "InvalidPath", message });
      addRoute({ ...request, spec, plugins: [], unavailable: message });
      return;
    }
    const port = redirect ? null : readPort(backend, backendSource);
    if (port === null || "reason" in port) {
      if (port !== null) problems.push(port);
      const reason = port === null ? {} : { unavailable: port.message };
      const early = plugins.filter(({ plugin }) => beforeRedirects.has(plugin));
      addRoute({ ...request, spec, plugins: redirect ? [redirect, ...early] : plugins, ...reason });
      return;
    }
    const canary = usableCanary(entry);
    const stable = () => addService(entry, port);
    const service = canary && canary.rules.weight > 0 ? addService(entry, port, canary) : stable();
    addRoute({ ...request, spec: { ...spec, serviceRef: { name: service } }, plugins });
    if (!canary) return;
    const { conditions } = canary.rules;
    for (const [index, { headers, isCanary: isForCanary }] of conditions.entries()) {
      const target = isForCanary ? addService(entry, canary.port) : stable();
      // The first condition decides.
      const priority = match.priority + conditions.length - index;
      const conditional = { ...spec, headers, serviceRef: { name: target } };
      addRoute({
        ...request,
        name: routeName(entry, `canary-${index}-`),
        priority,
        spec: conditional,
        plugins,
      });
    }
  }

  /** The canary of a path, unless its backend cannot be used. */
  function usableCanary(entry: IngressEntry): UsableCanary | undefined {
    const canary = canaryFor({ ...entry, host: entry.ruleHost }, options.canariesOf(entry.ruleHost));
    const port = canary && readPort(canary.backend, entry.backendSource);
    if (port && "reason" in port) problems.push(port);
    return canary && port && !("reason" in port) ? { ...canary, port } : undefined;
  }

  function readPort(backend: IngressEntry["backend"], source: string): CoreServicePort | IngressProblem {
    return backendPortOf(backend, source, (service) => options.read("CoreService", service));
  }

  /** Adds the Service for a backend, alone or together with a canary. Returns the name of the Service. */
  function addService({ backendSource }: IngressEntry, port: CoreServicePort, canary?: UsableCanary): string {
    const parts = ["service", port.name, `${port.port}`];
    const { weight, total } = canary?.rules ?? { weight: 0, total: 1 };
    if (canary) parts.push("canary", canary.ingress.metadata.name, canary.port.name, `${canary.port.port}`);
    const service = derivedName("ingress", name, ...parts);
    const certificate = certificateName();
    const members = { ...effects.service, ...(certificate && { clientCertificateRef: { name: certificate } }) };
    const request = { ...effects, service: members, name: service, source: `${backendSource}.service` };
    const backends = canary
      ? ([
          { ...port, weight: total - weight },
          { ...canary.port, weight },
        ] as const)
      : ([port] as const);
    for (const content of serviceContents(ingress, { ...request, backends })) add(content);
    return service;
  }

  /** The plugin that copies requests, and the Service of the copies; undefined: requests are not copied. */
  function mirrorPlugin(): PluginEffect | undefined {
    const { mirror, redirect } = effects;
    if (!mirror || redirect) return undefined;
    const { namespace } = ingress.metadata;
    const { protocol, hostHeader } = mirror;
    const of = derivedName("ingress", name, "mirror");
    const host = `${namespace}.${of.replaceAll("~", ".")}`;
    const derived = { sourcePaths: { spec: annotationPath("mirror-target") } };
    const targets = [{ target: `${mirror.host}:${mirror.port}` }];
    add({ kind: "Upstream", name: of, spec: { name: host, hostHeader, targets }, derived });
    // The plugin refers to the Service by the name of the entity, which must not depend on the home namespace.
    const entity = `${namespace}.${of}`;
    add({ kind: "Service", name: of, spec: { name: entity, host, protocol }, derived });
    const config = { mirrors: [{ service: entity, percentage: 100 }] };
    return { plugin: "request-mirror", config, requiredServices: [of], annotation: "mirror-target" };
  }

  /** The name of the Certificate that upstreams get; undefined: they get none. */
  function certificateName(): string | undefined {
    const { upstreamCertificate: pair } = effects;
    if (!pair) return undefined;
    const of = derivedName("ingress", name, "upstream-certificate");
    const entries = { [tlsEntries.cert]: pair.certificate, [tlsEntries.key]: pair.key };
    secrets.set(of, derivedSecret(ingress, of, { entries, type: TLS_SECRET_TYPE }));
    const derived = { sourcePaths: { spec: annotationPath("proxy-ssl-secret") } };
    add({ kind: "Certificate", name: of, spec: { secretRef: { name: of } }, derived });
    return of;
  }

  function matchSpec(
    host: IngressEntry["host"],
    { path, paths }: PathMatch,
    certificates: ClientCertificates | undefined,
  ): DerivedContent["spec"] {
    const [plain, secure] = effects.grpc ? ["grpc", "grpcs"] : ["http", "https"];
    return {
      ...(certificates && snisFor(host)),
      ...(host !== undefined && { hosts: [host] }),
      paths,
      protocols: isSecure(host) && !path.startsWith(CHALLENGES) ? [secure] : [plain, secure],
      httpsRedirectStatusCode: HTTPS_REDIRECT,
      stripPath: false,
      preserveHost: true,
    };
  }

  function addHostRedirects(host: string): void {
    const { appRoot, redirectsWww } = effects;
    const routes = [
      ...(appRoot === null ? [] : [appRootRoute(host, appRoot)]),
      ...(redirectsWww && !host.startsWith("*") && !options.hasHost(wwwCounterpart(host))
        ? [wwwRoute(host, isSecure(host) ? "https" : "http")]
        : []),
    ];
    for (const { host: of, part, paths, priority, redirect } of routes) {
      const source = annotationPath(redirect.annotation);
      const route = derivedName("ingress", name, hostPart(of), part);
      const certificates = of === host ? options.clientCertificatesOf(host) : undefined;
      const plugins = [certificates?.plugin ?? [], redirect].flat();
      const unavailable = certificates?.closed ?? closed;
      const spec = { ...(certificates && snisFor(of)), hosts: [of], paths };
      addRoute({ name: route, spec, priority, source, plugins, unavailable });
    }
  }

  /** Another Ingress may require certificates for a host, or close it. */
  function addCertificateProblem(host: string | undefined): void {
    const certificates = options.clientCertificatesOf(host);
    if (!certificates || certificates.source === namespacedName(ingress.metadata.namespace, name)) return;
    const { source, closed: fault } = certificates;
    const subject = `requests for ${host ?? "*"}`;
    if (fault !== undefined)
      problems.push({ reason: "HostClosed", message: `${fault}; ${subject} are answered with 503` });
    if (!requiresCertificates(ingress)) return;
    const message = `${annotationPath("auth-tls-secret")}: ${subject} need the client certificates of the older Ingress ${source}`;
    problems.push({ reason: "AnnotationNotUsed", message });
  }

  function addRoute({ name: route, spec, priority, source, plugins, unavailable = closed }: RouteRequest): void {
    add({
      kind: "Route",
      name: route,
      spec,
      derived: {
        // A value of an annotation in the reason may be very long.
        extras: {
          priority,
          ...(unavailable !== undefined && { unavailable: unavailable.slice(0, MAX_REASON).toWellFormed() }),
        },
        sourcePaths: { spec: source, "spec.serviceRef": `${source}.backend` },
      },
    });
    for (const effect of plugins) addPlugin(route, effect);
  }

  function addPlugin(route: string, { plugin, config, requiredServices, secret, annotation }: PluginEffect): void {
    const priority = orders[plugin];
    const secretRef = secret && { name: derivedName("ingress", name, plugin), key: secret.member };
    if (secret && secretRef)
      secrets.set(
        secretRef.name,
        derivedSecret(ingress, secretRef.name, { entries: { [secretRef.key]: secret.value } }),
      );
    add({
      kind: "Plugin",
      name: `${route}~${plugin}`,
      spec: {
        plugin,
        config,
        ...(secretRef && { configFrom: [{ path: secretRef.key, secretRef }] }),
        targetRefs: [{ kind: "Route", name: route }],
      },
      derived: {
        ...(priority !== undefined && { extras: { priority } }),
        sourcePaths: { spec: annotationPath(annotation) },
        ...(requiredServices && { requiredServices }),
      },
    });
  }

  function add(content: DerivedContent): void {
    const spec = { ...content.spec, class: options.class };
    contents.set(`${content.kind} ${content.name}`, { ...content, spec });
  }

  function routeName({ host, path, pathType }: IngressEntry, role = ""): string {
    return derivedName("ingress", name, hostPart(host), `${role}${words[pathType]}${slugOf(path)}`);
  }

  function isSecure(host: string | undefined): boolean {
    return effects.redirectsToHttps ?? options.hasTls(host);
  }
}

/** A canary is served with the Ingress that has the same host and path. */
function canaryProblems(ingress: Resource, options: DeriveIngressOptions): readonly IngressProblem[] {
  const annotations = annotationsOf(ingress);
  canaryRulesOf(annotations);
  const faults = annotations.faults.map(({ name, message }) => ({
    reason: "AnnotationNotSupported",
    message: `${annotationPath(name)}: ${message}; it has no effect`,
  }));
  const alone = [...ingressHostsOf(ingress)].filter((host) => !options.hasHost(host));
  const message = `${annotationPath("canary")}: no other Ingress has the host ${alone[0] ?? "*"}, so the canary gets no requests`;
  return alone.length === 0 ? faults : [...faults, { reason: "NoPrimary", message }];
}

/**
 * The order of checks in nginx: sizes of bodies, limits, and addresses, before logins (development guide of nginx, "HTTP
 * phases"). So failed logins are limited too. Client certificates (plugin mtls-auth) come before all of them.
 */
const orders: Readonly<Record<string, number>> = {
  "request-size-limiting": 1590,
  "rate-limiting": 1580,
  "concurrency-limiting": 1570,
  "ip-restriction": 1560,
};

/** The plugins that are also used by an Ingress that redirects, as in ingress-nginx. */
const beforeRedirects: ReadonlySet<string> = new Set(["cors", "mtls-auth", "request-size-limiting"]);

const words = { Exact: "exact", Prefix: "prefix", ImplementationSpecific: "prefix" } as const;

/** Limits a Route with client certificates to the host: otherwise the handshakes for all hosts would request one. */
const snisFor = (host: string | undefined) => host !== undefined && !host.startsWith("*") && { snis: [host] };

/** The host as a part of a name, in which `*` is not allowed. No host has the character `_`. */
const hostPart = (host: string | undefined): string => (host ?? "_").replaceAll("*", "_");

/** The model allows 1024 characters: a longer reason would make the Route invalid, instead of closing it. */
const MAX_REASON = 1000;

const MAX_SLUG = 60;

/** The path as a part of a name: `/api/v1` -> `~api~v1`. A path that the name cannot show is followed by its hash. */
function slugOf(path: string): string {
  const shown = path
    .slice(0, MAX_SLUG)
    .replace(/[^\w./]+/g, "-")
    .replaceAll("/", "~");
  return shown.replaceAll("~", "/") === path ? shown : `${shown}~${shortHash(path)}`;
}
