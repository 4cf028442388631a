/**
 * What the filters, timeouts and retries of a rule do: plugins for its Routes, and members of its Routes and Service.
 */
import type { ServiceExtras } from "@sluice/model";
import { corsConfig } from "../filters/cors.ts";
import { createHeaderEdits, escapeVariables } from "../filters/header-modifiers.ts";
import { type MirrorFilter, mirrorOf } from "../filters/mirror.ts";
import { type PathModifier, pathModifierOf } from "../filters/path-modifier.ts";
import { type RedirectFilter, redirectOf } from "../filters/redirect.ts";
import { type ConditionFinding, falseFinding, type RouteFilter, type RouteRule } from "../gateway-api.ts";
import { attemptMembers } from "./timeouts.ts";

export interface RulePlugin {
  readonly plugin: string;
  readonly config: object;
  /** The path of the filter in the route. */
  readonly source: string;
  /** The derived Services that the config names. Default: none. */
  readonly requiredServices?: readonly string[];
}

export interface RuleEffects {
  readonly plugins: readonly RulePlugin[];
  readonly redirect: RedirectFilter | undefined;
  readonly mirrors: readonly MirrorFilter[];
  /** The names of Plugins, in the namespace of the route, that act on the rule. */
  readonly extensions: readonly { readonly name: string; readonly source: string }[];
  /** Members of the Service. */
  readonly service: object;
  readonly serviceExtras: ServiceExtras;
  /** Whether the prefix that matches is removed from the path. */
  readonly stripPath: boolean;
  /** Why the rule cannot be served as it is meant. */
  readonly faults: readonly ConditionFinding[];
}

export interface RuleSource {
  readonly rule: RouteRule;
  /** The path of the rule in the route. */
  readonly source: string;
  /** The filters of the backend. They come after those of the rule. */
  readonly backendFilters: readonly LocatedFilter[];
}

export interface LocatedFilter {
  readonly filter: RouteFilter;
  /** The path of the filter in the route. */
  readonly at: string;
}

/** Filters that cannot be merged. */
const usedOnce: ReadonlySet<unknown> = new Set(["CORS", "RequestRedirect", "URLRewrite"]);

export function effectsOf({ rule, source, backendFilters }: RuleSource): RuleEffects {
  const filters = [...filtersWithPaths(rule.filters, `${source}.filters`), ...backendFilters];
  const faults: ConditionFinding[] = [];
  const plugins: RulePlugin[] = [];
  const extensions: { readonly name: string; readonly source: string }[] = [];
  const requestEdits = createHeaderEdits(escapeVariables);
  const responseEdits = createHeaderEdits((value) => value);
  const mirrors: MirrorFilter[] = [];
  const used = new Set<string>();
  let fullPath: string | undefined;
  let redirect: RedirectFilter | undefined;
  let service: object = {};
  let stripPath = false;
  for (const { filter, at } of filters) apply(filter, at);
  const attempts = attemptMembers(rule, source);
  faults.push(...attempts.faults);
  if (rule.sessionPersistence)
    faults.push(falseFinding("UnsupportedValue", `${source}.sessionPersistence is not supported`));
  if (redirect && (rule.filters ?? []).some(({ type }) => type === "URLRewrite"))
    faults.push(
      falseFinding("IncompatibleFilters", `${source}.filters: RequestRedirect cannot be used with URLRewrite`),
    );
  const request = requestEdits.config();
  if (request || fullPath !== undefined) {
    const uri = fullPath === undefined ? {} : { uri: escapeVariables(fullPath) };
    const config = { ...request, replace: { ...request?.replace, ...uri } };
    plugins.push({ plugin: "request-transformer", config, source: `${source}.filters` });
  }
  const response = responseEdits.config();
  if (response) plugins.push({ plugin: "response-transformer", config: response, source: `${source}.filters` });
  return {
    plugins,
    redirect,
    mirrors,
    extensions,
    service: { ...service, ...attempts.members },
    serviceExtras: attempts.extras,
    stripPath,
    faults,
  };

  function apply(filter: RouteFilter, at: string): void {
    if (usedOnce.has(filter.type) && used.has(filter.type))
      faults.push(
        falseFinding("UnsupportedValue", `${at}: a rule and its backend can have only one filter ${filter.type}`),
      );
    used.add(filter.type);
    switch (filter.type) {
      case "RequestHeaderModifier":
        requestEdits.modify(filter.requestHeaderModifier);
        break;
      case "ResponseHeaderModifier":
        responseEdits.modify(filter.responseHeaderModifier);
        break;
      case "URLRewrite":
        rewrite(filter.urlRewrite);
        break;
      case "RequestMirror":
        mirrors.push(mirrorOf(filter.requestMirror, at));
        break;
      case "RequestRedirect":
        redirect = redirectOf(filter.requestRedirect, at);
        break;
      case "CORS":
        allowOrigins(filter.cors, at);
        break;
      case "ExtensionRef":
        extend(filter.extensionRef, at);
        break;
      default:
        faults.push(falseFinding("UnsupportedValue", `${at}: the filter ${filter.type} is not supported`));
    }
  }

  function allowOrigins(filter: unknown, at: string): void {
    const config = corsConfig(filter);
    if (config) plugins.push({ plugin: "cors", config, source: at });
  }

  function rewrite(filter: unknown): void {
    const { hostname, prefix, ...path } = rewriteOf(filter);
    if (hostname !== undefined) requestEdits.set({ name: "Host", value: hostname });
    fullPath = path.fullPath;
    if (prefix === undefined) return;
    service = { path: prefix };
    stripPath = true;
  }

  function extend(ref: unknown, at: string): void {
    const { group, kind, name } = Object(ref) as Readonly<Record<string, unknown>>;
    if (group === "sluice.dev" && kind === "Plugin" && typeof name === "string")
      extensions.push({ name, source: `${at}.extensionRef` });
    else
      faults.push(
        falseFinding(
          "UnsupportedValue",
          `${at}.extensionRef: the kind ${kind} of ${group} is not supported: use Plugin of sluice.dev`,
        ),
      );
  }
}

export const filtersWithPaths = (filters: readonly RouteFilter[] = [], path: string): readonly LocatedFilter[] =>
  filters.map((filter, index) => ({ filter, at: `${path}[${index}]` }));

interface UrlRewrite extends PathModifier {
  readonly hostname?: string;
}

/** URLRewrite: another host name or path for the upstream. */
function rewriteOf(filter: unknown): UrlRewrite {
  const { hostname, path } = Object(filter) as { readonly hostname?: string; readonly path?: unknown };
  return { ...pathModifierOf(path), ...(hostname !== undefined && { hostname }) };
}
