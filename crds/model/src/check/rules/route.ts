/** Rules for combinations of a route's members, including its protocols. */
import {
  isEmptyValue,
  quotedList,
  type RecordMembers,
  type RecordRule,
  recordViolation,
  type Violation,
} from "@sluice/plugin-sdk";
import { refuseUdp } from "./entities.ts";
import { regexRule } from "./paths.ts";

const FAMILIES = [["http", "https"], ["tcp", "tls", "udp"], ["tls_passthrough"], ["grpc", "grpcs"]] as const;

/** For HTTP routes: the members that they must not have, and the members that can match requests without TLS. */
const HTTP = {
  forbidden: ["sources", "destinations"],
  when: "'http' or 'https'",
  plain: ["methods", "hosts", "headers", "paths"],
};
/** The forbidden and the matching members of gRPC routes. */
const GRPC = {
  forbidden: ["methods", "sources", "destinations"],
  when: "'grpc' or 'grpcs'",
  plain: ["hosts", "headers", "paths"],
};

/** The protocols of connections. */
const STREAMS: readonly unknown[] = ["tcp", "tls", "tls_passthrough"];
/** Members that connections cannot match. */
const HTTP_ONLY = ["methods", "hosts", "paths", "headers"];

export const routeRule: RecordRule = (members) => {
  const protocols: readonly unknown[] = Array.isArray(members.protocols) ? members.protocols : [];
  const refused = protocols.flatMap((protocol, index) => {
    const message = refuseUdp(protocol);
    return message === undefined ? [] : [{ path: ["protocols", index], message }];
  });
  if (refused.length > 0) return refused;
  return [...oneFamily(protocols), ...byProtocols(members, protocols), ...headerPatterns(members.headers)];
};

/** The protocols of the document's listeners for connections. */
const LISTENER_STREAMS: readonly unknown[] = ["tls", "tls_passthrough"];
/** Members that connections of the document's listeners cannot match: the gateway reads only their server name. */
const LISTENER_FORBIDDEN = ["methods", "paths", "headers", "snis", "sources", "destinations"];

/**
 * A route of the document's listeners. With the protocol tls or tls_passthrough, `hosts` are server names. Kong has
 * `snis` for them, without wildcards.
 */
export const listenerRouteRule: RecordRule = (members) => {
  const protocols: readonly unknown[] = Array.isArray(members.protocols) ? members.protocols : [];
  if (protocols.length !== 1 || !LISTENER_STREAMS.includes(protocols[0])) return routeRule(members);
  return LISTENER_FORBIDDEN.filter((name) => !isEmptyValue(members[name])).map((name) => ({
    path: [name],
    message: `cannot set '${name}' when 'protocols' is '${protocols[0]}'`,
  }));
};

function oneFamily(protocols: readonly unknown[]): readonly Violation[] {
  const familyOf = (protocol: unknown) => FAMILIES.find((family) => family.some((member) => member === protocol));
  const families = new Set(protocols.map(familyOf).filter((family) => family !== undefined));
  if (families.size < 2) return [];
  const list = [...families].map((family) => `(${quotedList(family)})`).join(", ");
  return [{ path: ["protocols"], message: `these sets are mutually exclusive: ${list}` }];
}

function byProtocols(members: RecordMembers, protocols: readonly unknown[]): readonly Violation[] {
  if (STREAMS.includes(protocols[0])) return byConnection(members, protocols);
  const grpc = protocols[0] === "grpc" || protocols[0] === "grpcs";
  if (!grpc && protocols[0] !== "http" && protocols[0] !== "https") return [];
  const family = grpc ? GRPC : HTTP;
  const cannotSet = (name: string): Violation => ({
    path: [name],
    message: `cannot set '${name}' when 'protocols' is ${family.when}`,
  });
  const forbidden = family.forbidden.filter((name) => members[name] !== null).map(cannotSet);
  if (grpc && members.strip_path === true) forbidden.push(cannotSet("strip_path"));
  return [...forbidden, ...matchable(members, protocols, family.plain), ...serverNames(members, protocols)];
}

/** Kong's rules for routes of connections, with its messages. */
function byConnection(members: RecordMembers, protocols: readonly unknown[]): readonly Violation[] {
  const forbidden = HTTP_ONLY.filter((name) => members[name] !== null).map((name) => ({
    path: [name],
    message: `cannot set '${name}' when 'protocols' is 'tcp', 'tls', 'tls_passthrough' or 'udp'`,
  }));
  return [...forbidden, ...connectionMatch(members, protocols), ...serverNames(members, protocols)];
}

function connectionMatch(members: RecordMembers, protocols: readonly unknown[]): readonly Violation[] {
  if (protocols.includes("tls_passthrough"))
    return isEmptyValue(members.snis) ? [recordViolation("must set snis when 'protocols' is 'tls_passthrough'")] : [];
  const names = ["sources", "destinations", "snis"];
  if (names.some((name) => !isEmptyValue(members[name]))) return [];
  return [recordViolation(`must set one of ${quotedList(names)} when 'protocols' is 'tcp', 'tls' or 'udp'`)];
}

/** A violation unless the route has a match criterion; server names count only with TLS. */
function matchable(
  members: RecordMembers,
  protocols: readonly unknown[],
  plain: readonly string[],
): readonly Violation[] {
  const secure = protocols.find((protocol) => protocol === "https" || protocol === "grpcs");
  const names = secure === undefined ? plain : [...plain, "snis"];
  if (names.some((name) => !isEmptyValue(members[name]))) return [];
  return [recordViolation(`must set one of ${quotedList(names)} when 'protocols' is '${secure ?? protocols[0]}'`)];
}

const WITH_TLS: readonly unknown[] = ["https", "grpcs", "tls", "tls_passthrough"];

function serverNames(members: RecordMembers, protocols: readonly unknown[]): readonly Violation[] {
  if (isEmptyValue(members.snis) || protocols.some((protocol) => WITH_TLS.includes(protocol))) return [];
  return [
    { path: ["snis"], message: "length must be 0" },
    recordViolation("'snis' can only be set when 'protocols' is 'grpcs', 'https', 'tls' or 'tls_passthrough'"),
  ];
}

/** Checks the value of a condition (`_sluice.match`) if it is a regular expression. */
export const valueMatchRule: RecordRule = ({ type, value }) => {
  const message = type === "regex" && typeof value === "string" ? regexRule(value) : undefined;
  return message === undefined ? [] : [{ path: ["value"], message }];
};

/** Checks the header values that are regular expressions: those that begin with `~*` and are a header's only value. */
function headerPatterns(headers: unknown): readonly Violation[] {
  if (typeof headers !== "object" || headers === null) return [];
  return Object.entries(headers).flatMap(([name, values]) => {
    const [only, second] = Array.isArray(values) ? values : [];
    if (typeof only !== "string" || second !== undefined || !only.startsWith("~*")) return [];
    const message = regexRule(only.slice(2));
    return message === undefined ? [] : [{ path: ["headers", name, 0], message }];
  });
}
