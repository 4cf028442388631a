/** The conditions of a route (`_sluice.match`), in addition to the attributes that Kong's routes have. */
import type { RequestMatch, RequestShare, ValueMatch } from "@sluice/model";
import type { Regex } from "@sluice/model/serving";
import { lowerCase } from "@sluice/plugin-sdk";
import type { RoutableRequest } from "../runtime.ts";

export type RouteCondition = ValueCondition | ShareCondition;

interface ShareCondition extends RequestShare {
  readonly on: "share";
}

export interface ValueCondition {
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
    (on: ValueCondition["on"]) =>
    ({ name, value, type }: ValueMatch): ValueCondition => ({
      on,
      name: on === "header" ? lowerCase(name) : name,
      value: type === "regex" ? regex(value) : value,
    });
  const all = [
    ...(match?.headers ?? []).map(condition("header")),
    ...(match?.query ?? []).map(condition("query")),
    ...(match?.share ? [{ on: "share" as const, ...match.share }] : []),
  ];
  return all.length > 0 ? all : null;
}

export function conditionHolds(condition: RouteCondition, request: RoutableRequest): boolean {
  if (condition.on === "share") {
    const number = randomNumberOf(request);
    return number >= condition.from && number < condition.to;
  }
  const { on, name, value } = condition;
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

/** The random numbers of requests that several routes share. */
const randomNumbers = new WeakMap<RoutableRequest, number>();

/** A random number from 0 to below 100. It is drawn once for a request, so that exactly one of the routes matches. */
function randomNumberOf(request: RoutableRequest): number {
  const number = randomNumbers.get(request) ?? Math.random() * 100;
  randomNumbers.set(request, number);
  return number;
}
