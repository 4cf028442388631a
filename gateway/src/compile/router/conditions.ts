/** The conditions of a route (`_sluice.match`), in addition to the attributes that Kong's routes have. */
import type { RequestMatch, ValueMatch } from "@sluice/model";
import type { Regex } from "@sluice/model/serving";
import { lowerCase } from "@sluice/plugin-sdk";
import type { RoutableRequest } from "../runtime.ts";

export interface RouteCondition {
  readonly on: "header" | "query";
  /** In lower case for a header. */
  readonly name: string;
  /** The value, or the regular expression for the whole value. */
  readonly value: string | Regex;
}

/** Null: the route has no conditions. */
export function routeConditions(
  match: RequestMatch | undefined,
  regex: (source: string) => Regex,
): RouteCondition[] | null {
  const condition =
    (on: RouteCondition["on"]) =>
    ({ name, value, type }: ValueMatch): RouteCondition => ({
      on,
      name: on === "header" ? lowerCase(name) : name,
      value: type === "regex" ? regex(value) : value,
    });
  const all = [...(match?.headers ?? []).map(condition("header")), ...(match?.query ?? []).map(condition("query"))];
  return all.length > 0 ? all : null;
}

export function conditionHolds({ on, name, value }: RouteCondition, request: RoutableRequest): boolean {
  const sent = on === "header" ? combinedHeader(request, name) : firstParameter(request.query, name);
  if (sent === null) return false;
  return typeof value === "string" ? sent === value : value.testWhole(sent);
}

/** The values of a header, combined as in RFC 9110 section 5.3; null: the request does not have the header. */
function combinedHeader(request: RoutableRequest, name: string): string | null {
  const values = request.headerValues(lowerCase(name));
  return values.length === 0 ? null : values.join(", ");
}

/** The first value of a query parameter, decoded; null: there is none. */
const firstParameter = (query: string, name: string): string | null =>
  query === "" ? null : new URLSearchParams(query).get(name);
