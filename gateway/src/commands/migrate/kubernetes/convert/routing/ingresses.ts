/** Ingresses with annotations of Kong as Routes: one for each host and backend, as in Kong's ingress controller. */
import type { ManifestObject } from "@sluice/crds";
import { HEADERS_PREFIX } from "../annotation-table.ts";
import type { AttachTo } from "../attachments.ts";
import { AnnotationReader, annotationField, type Conversion } from "../conversion.ts";
import { annotationsAt, namespaceOf, nonEmptyText, recordOf } from "../objects.ts";
import { ingressPathsOf, type KongIngressPath, kongPathsOf } from "./ingress-paths.ts";
import { type ConvertedService, pathsOf, type ServiceConverter } from "./services.ts";

type Members = Readonly<Record<string, unknown>>;

export interface IngressOptions {
  readonly conversion: Conversion;
  readonly services: ServiceConverter;
  readonly attach: (plugins: AttachTo) => void;
  readonly legacyRegexes: boolean;
  /** Whether the default backend of this Ingress is used: Kong's controller uses that of the oldest one. */
  readonly hasDefaultBackend: boolean;
}

export function convertIngress(ingress: ManifestObject, options: IngressOptions): void {
  const { conversion, services } = options;
  const read = new AnnotationReader(ingress, conversion);
  const spec = recordOf(ingress.spec);
  const namespace = namespaceOf(ingress);
  const common = routeMembers(ingress, read);
  const regexPrefix = nonEmptyText(read.text("regex-prefix")) ?? "/~";
  const groups = Map.groupBy(ingressPathsOf(spec), ({ host, backend }) => JSON.stringify([host, backendKey(backend)]));
  const backends = [...groups.values()].flatMap((paths) => {
    const [first] = paths;
    return first ? [{ ...first, paths }] : [];
  });
  const hasMany = backends.length + (options.hasDefaultBackend ? 1 : 0) > 1;
  for (const [index, { host, backend, source, paths }] of backends.entries()) {
    const service = services.convert(backend, { object: ingress, path: [...source, "backend"] });
    const kongPaths = paths.map((path) => kongPathsOf(path, { regexPrefix, legacyRegexes: options.legacyRegexes }));
    const places = paths.flatMap(({ source: at }, given) => (kongPaths[given] ?? []).map(() => [...at, "path"]));
    const hosts = [...new Set([...(host === undefined ? [] : [host]), ...common.aliases])];
    const wanted = hasMany ? `${ingress.metadata.name}-${index + 1}` : ingress.metadata.name;
    addRoute({ ...(hosts.length > 0 && { hosts }), paths: kongPaths.flat() }, { wanted, service, places, source });
  }
  if (options.hasDefaultBackend) {
    const source = ["spec", "defaultBackend"];
    const service = services.convert(recordOf(spec.defaultBackend), { object: ingress, path: source });
    const wanted = hasMany ? `${ingress.metadata.name}-default` : ingress.metadata.name;
    addRoute(
      { paths: ["/"], ...(common.aliases.length > 0 && { hosts: common.aliases }) },
      { wanted, service, places: [], source },
    );
  }

  interface RoutePlace {
    readonly wanted: string;
    readonly service: ConvertedService;
    /** The place of each path. */
    readonly places: readonly (readonly (string | number)[])[];
    readonly source: readonly (string | number)[];
  }

  function addRoute(match: Members, { wanted, service, places, source }: RoutePlace): void {
    const name = conversion.nameFor("Route", namespace, wanted);
    const itemPaths = places.map((path, index) => [`paths.${index}`, path] as const);
    const id = conversion.add(
      "routes",
      {
        name: conversion.entityName(namespace, name),
        ...match,
        ...common.members,
        service: { id: service.id },
      },
      {
        object: ingress,
        name,
        paths: { ...pathsOf(routeAnnotations), paths: source, hosts: source, ...Object.fromEntries(itemPaths) },
      },
    );
    const target = { id, kind: "Route", name, namespace } as const;
    options.attach({ target, object: ingress });
    addRewrite(id, name);
  }

  function addRewrite(route: string, routeName: string): void {
    const given = read.text("rewrite");
    if (given === undefined) return;
    const field = { object: ingress, path: annotationField("konghq.com/rewrite") };
    const uri = rewriteTemplateOf(given === "" ? "/" : given);
    if (uri === undefined) {
      conversion.close({ route }, { ...field, message: "$ must be followed by a digit, and \\ by $" }, "rewrite");
      return;
    }
    conversion.add(
      "plugins",
      { name: "request-transformer", config: { replace: { uri } }, route: { id: route } },
      {
        object: ingress,
        paths: { config: field.path, name: field.path },
        name: conversion.nameFor("Plugin", namespace, `${routeName}-rewrite`),
      },
    );
  }
}

const backendKey = ({ service, resource }: Members): string => JSON.stringify([service, resource]);

/** Members of a route, each with its annotation. */
const routeAnnotations = {
  strip_path: "strip-path",
  preserve_host: "preserve-host",
  protocols: "protocols",
  https_redirect_status_code: "https-redirect-status-code",
  methods: "methods",
  snis: "snis",
  regex_priority: "regex-priority",
  path_handling: "path-handling",
  request_buffering: "request-buffering",
  response_buffering: "response-buffering",
  tags: "tags",
} as const;

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 307, 308, 426]);

interface CommonMembers {
  readonly members: Members;
  readonly aliases: readonly string[];
}

/** The members that all routes of an Ingress have. */
function routeMembers(ingress: ManifestObject, read: AnnotationReader): CommonMembers {
  const code = read.integer("https-redirect-status-code");
  if (code !== undefined && !REDIRECTS.has(code)) read.invalid("https-redirect-status-code");
  const forcesTls = annotationsAt(ingress)["ingress.kubernetes.io/force-ssl-redirect"] === "true";
  const given = [...read.list("protocols")].sort();
  const protocols = given.length === 0 && forcesTls ? ["https"] : given;
  const isGrpc = protocols.some((protocol) => protocol.startsWith("grpc"));
  const isMixed = isGrpc && protocols.some((protocol) => protocol.startsWith("http"));
  const methods = read.list("methods").map((method) => method.toUpperCase());
  const areMethods = methods.every((method) => /^[A-Z]+$/.test(method));
  if (!areMethods) read.invalid("methods");
  const pathHandling = nonEmptyText(read.text("path-handling"));
  const redirect = code !== undefined && REDIRECTS.has(code) ? code : forcesTls ? 302 : undefined;
  const members: Members = {
    strip_path: isGrpc ? false : (read.boolean("strip-path") ?? false),
    preserve_host: read.boolean("preserve-host") ?? true,
    protocols: isMixed ? ["http", "https"] : protocols.length > 0 ? protocols : undefined,
    https_redirect_status_code: redirect,
    methods: methods.length > 0 && areMethods ? methods : undefined,
    snis: validNames(read, "snis", SERVER_NAME),
    headers: headersOf(ingress, read),
    regex_priority: read.integer("regex-priority"),
    path_handling: pathHandling,
    request_buffering: read.boolean("request-buffering"),
    response_buffering: read.boolean("response-buffering"),
    tags: read.list("tags").length > 0 ? read.list("tags") : undefined,
  };
  return {
    members: Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)),
    aliases: validNames(read, "host-aliases", HOST) ?? [],
  };
}

const LABELS = "[a-z0-9-]+(\\.[a-z0-9-]+)*";
const SERVER_NAME = new RegExp(`^${LABELS}$`, "i");
const HOST = new RegExp(`^(\\*\\.)?${LABELS}(\\.\\*)?$`, "i");

/** The names of an annotation; undefined if there is none. One invalid name makes Kong ignore all. */
function validNames(read: AnnotationReader, annotation: string, form: RegExp): readonly string[] | undefined {
  const names = read.list(annotation);
  if (names.every((name) => form.test(name))) return names.length > 0 ? names : undefined;
  return read.invalid(annotation);
}

function headersOf(ingress: ManifestObject, read: AnnotationReader): Members | undefined {
  const separator = read.text("headers-separator") ?? ",";
  const headers = Object.entries(annotationsAt(ingress)).flatMap(([annotation, value]) => {
    const name = annotation.startsWith(HEADERS_PREFIX) ? annotation.slice(HEADERS_PREFIX.length) : "";
    if (name === "" || value === "") return [];
    return [[name, value.split(separator).map((item) => item.trim())] as const];
  });
  return headers.length > 0 ? Object.fromEntries(headers) : undefined;
}

/** `/a/$1` as a template of request-transformer. Undefined if a `$` or a backslash is not used as Kong requires. */
export function rewriteTemplateOf(uri: string): string | undefined {
  if (/\\(?!\$)|(?<!\\)\$(?!\d)/.test(uri)) return undefined;
  return uri.replace(/\\\$|\$(\d+)/g, (all, capture?: string) =>
    capture === undefined ? all.slice(1) : `$(uri_captures[${capture}])`,
  );
}

/** Hosts of rules and aliases; undefined stands for any host. */
export const hostsOf = (ingress: ManifestObject): readonly (string | undefined)[] => {
  const aliases = (annotationsAt(ingress)["konghq.com/host-aliases"] ?? "").split(",").map((alias) => alias.trim());
  const spec = recordOf(ingress.spec);
  const hosts = ingressPathsOf(spec).map(({ host }: KongIngressPath) => host);
  return [...hosts, ...aliases.filter((alias) => alias !== ""), ...(spec.defaultBackend ? [undefined] : [])];
};
