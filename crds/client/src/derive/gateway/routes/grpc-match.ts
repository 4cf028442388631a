/** The matches of a GRPCRoute as members of a Route, and their order of precedence. */
import { compileRegex, escapeRegex } from "@sluice/model";
import { exactPaths } from "../../derived-paths.ts";
import type { GrpcMethodMatch, GrpcRouteMatch } from "../gateway-api.ts";
import { type MatchFault, type TranslatedMatch, valueMatches } from "./http-match.ts";

/** The model allows 1024 characters for a path. */
const MAX_NAME = 480;

/** A service or a method without a condition. */
const ANY = "[^/]+";

/**
 * The path of a gRPC call is `/<service>/<method>`. Conditions that cannot be used are left out, so that the match
 * includes all calls that were meant; these have to be refused.
 */
export function translateGrpcMatch({ method = {}, headers }: GrpcRouteMatch): TranslatedMatch {
  const faults = methodFaults(method);
  const { service = "", method: name = "" } = method;
  // Names of headers have no case.
  const ofHeaders = valueMatches(headers, { list: "headers", keyOf: (header) => header.toLowerCase() });
  return {
    paths: [pathOf(faults.length > 0 ? {} : method)],
    methods: [],
    match: ofHeaders.matches.length > 0 ? { headers: ofHeaders.matches } : undefined,
    // The service comes first, then the method, then the number of headers (Gateway API, "GRPCRouteRule").
    priority: (lengthOf(service) * 2 ** 11 + lengthOf(name)) * 2 ** 5 + (headers?.length ?? 0),
    prefix: undefined,
    faults: [...faults, ...ofHeaders.faults],
  };
}

const lengthOf = ({ length }: string): number => Math.min(length, MAX_NAME);

function pathOf({ service = "", method = "", type }: GrpcMethodMatch): string {
  if (type === "RegularExpression") {
    if (service === "" && method === "") return "/";
    const [ofService, ofMethod] = [service, method].map((regex) => (regex === "" ? ANY : `(?:${regex})`));
    return `~/${ofService}/${ofMethod}$`;
  }
  if (service !== "" && method !== "") return exactPaths(`/${service}/${method}`).paths[0] ?? "/";
  if (service !== "") return `/${service}/`;
  return method === "" ? "/" : `~/${ANY}/${escapeRegex(method)}$`;
}

function methodFaults({ service = "", method = "", type }: GrpcMethodMatch): readonly MatchFault[] {
  const faults = Object.entries({ service, method }).flatMap(([member, value]) => {
    const message = value.length > MAX_NAME ? `longer than ${MAX_NAME} characters` : regexFault(value, type);
    return message === undefined ? [] : [{ field: `method.${member}`, message }];
  });
  if (faults.length > 0 || type === "RegularExpression") return faults;
  const { fault } = exactPaths(`/${service}/${method}`);
  return fault === undefined ? [] : [{ field: "method", message: `the path of the calls: ${fault}` }];
}

function regexFault(value: string, type: GrpcMethodMatch["type"]): string | undefined {
  if (type !== "RegularExpression") return undefined;
  if (value.includes("//")) return "must not have empty segments";
  // A `\Q` without `\E` would quote the end of the group.
  const violation = compileRegex(value).violations?.[0] ?? compileRegex(`(?:${value})`).violations?.[0];
  return violation && `not a usable regular expression: ${violation.message}`;
}
