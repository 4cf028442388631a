/** `limit_by`: the property by which a plugin counts requests, as in Kong's rate-limiting, and `scope_name`. */
import { hash } from "node:crypto";
import type { RawConnection } from "../connections/raw-connection.ts";
import type { Exchange } from "../exchange/exchange.ts";
import { lowerCase } from "../exchange/header-name.ts";
import { OPERATION_NAME } from "../exchange/shared-names.ts";
import type { KongCheck } from "../plugin.ts";
import { choice, nullable, text } from "../schema/member.ts";
import { conditionalViolations, isEmptyValue, type RecordMembers } from "../schema/rules.ts";
import { counterScope } from "../services/counters.ts";
import type { PluginScope } from "../services/instance.ts";
import type { Violation } from "../violation.ts";
import { StringCache } from "./string-cache.ts";

const properties = ["consumer", "credential", "ip", "service", "header", "path", "operation"] as const;

type LimitBy = (typeof properties)[number];

/** The config members that `counterNames` reads, apart from `scope_name`. */
export const limitByMembers = (byDefault: LimitBy) => ({
  limit_by: choice(properties, {
    description:
      "The property by which requests are counted: requests with the same value share a counter. If a request has " +
      "no such value, the client's address is used; for IPv6 it is the full address, as in Kong. consumer: also the " +
      "consumer that `anonymous` of an authentication plugin names, so that all requests without a valid credential " +
      "share a counter; without a consumer, the credential is used. operation (not in " +
      "Kong): the name of the GraphQL operation that the plugin graphql has read, of a batch the first one; all callers " +
      "of it share a counter.",
    default: byDefault,
  }),
  header_name: nullable(
    text({ description: "The header to count by if limit_by is header.", rule: "header-name", maxLength: 256 }),
  ),
  path: nullable(
    text({
      description:
        "The path to count if limit_by is path: requests to it share a counter; other requests are counted by address.",
      rule: "path",
      maxLength: 1024,
    }),
  ),
});

export const scopeNameMember = () =>
  nullable(
    text({
      description:
        "Instances of this plugin with the same scope_name count together, whatever they are attached to. With " +
        "custom resources, only requests to Routes of the same namespace count together. If unset, instances count " +
        "together only if they are attached to the same entities.",
      maxLength: 256,
    }),
  );

/** The violations of members that the value of `limit_by` requires, with Kong's messages. */
export function limitByViolations(config: RecordMembers): readonly Violation[] {
  const needed = config.limit_by === "header" ? "header_name" : config.limit_by === "path" ? "path" : null;
  if (needed === null || !isEmptyValue(config[needed])) return [];
  return conditionalViolations("config.limit_by", [needed], "required field missing");
}

const requiredBy = (value: LimitBy, member: string): KongCheck => ({
  conditional: {
    if_field: "config.limit_by",
    if_match: { eq: value },
    then_field: `config.${member}`,
    then_match: { required: true },
  },
});

/** The checks of `limitByViolations` in Kong's schema language. */
export const limitByKongChecks: readonly KongCheck[] = [
  requiredBy("header", "header_name"),
  requiredBy("path", "path"),
];

/**
 * Maximum characters of an identifier. A longer one (a header's value) is replaced by its SHA-256, so that a client
 * cannot make the gateway store long texts.
 */
const MAX_IDENTIFIER = 128;

export interface LimitByConfig {
  readonly limit_by: LimitBy;
  readonly header_name: string | null;
  readonly path: string | null;
  readonly scope_name: string | null;
}

/** The identifier of a request; undefined or empty if it has none. */
type Identify = (exchange: Exchange) => string | null | undefined;

const identifiers: Readonly<Record<LimitBy, (config: LimitByConfig) => Identify>> = {
  consumer: () => (exchange) => exchange.consumer?.id ?? exchange.credential?.id,
  credential: () => (exchange) => exchange.credential?.id,
  ip: () => () => undefined,
  service: () => (exchange) => exchange.service?.id,
  header: ({ header_name }) => {
    if (header_name === null) return () => undefined;
    const name = lowerCase(header_name);
    return (exchange) => exchange.request.header(name);
  },
  path:
    ({ path }) =>
    (exchange) =>
      exchange.request.path === path ? path : undefined,
  operation: () => (exchange) => {
    const name = exchange.shared.get(OPERATION_NAME);
    return typeof name === "string" ? name : undefined;
  },
};

const countedByTexts: Readonly<Record<LimitBy, (config: LimitByConfig) => string>> = {
  consumer: () => "counted by consumer",
  credential: () => "counted by credential",
  ip: () => "counted by client address",
  service: () => "counted by service: all callers share it",
  header: ({ header_name }) => `counted by header ${header_name}: requests with the same value share it`,
  path: ({ path }) => `counted by path: all callers of ${path} share it`,
  operation: () => "counted by GraphQL operation: all callers share it",
};

/** A clause about the requests that share one counter, for people. */
export const countedByText = (config: LimitByConfig): string => countedByTexts[config.limit_by](config);

/** Maximum counter names in one generation of each cache. A cache has two generations. */
const REMEMBERED = 256;

/** The names under which the requests of one plugin instance are counted. */
export interface CounterNames {
  /** The plugin's scope, or `scope_name` with the namespace of the exchange's route. */
  scopeOf(exchange: Exchange): string;
  /**
   * The scope and `<limit_by>=<identifier>`, or `ip=<client's address>` if the request has no identifier.
   */
  nameOf(exchange: Exchange): string;
  /** As `nameOf`, for a connection that is not HTTP: its only identifier is its service. */
  nameOfConnection(connection: RawConnection): string;
}

export function counterNames(config: LimitByConfig, scope: PluginScope): CounterNames {
  const { scope_name } = config;
  const identifierOf = identifiers[config.limit_by](config);
  const connectionIdentifier = ({ service }: RawConnection) => (config.limit_by === "service" ? service.id : null);
  if (scope_name === null) {
    const names = new ScopeNames(counterScope(scope), config.limit_by);
    return {
      scopeOf: () => names.scope,
      nameOf: (exchange) => names.of(exchange.request, identifierOf(exchange)),
      nameOfConnection: (connection) => names.of(connection, connectionIdentifier(connection)),
    };
  }
  // The authors of one namespace must not use up the limits of another by the choice of a name.
  const byNamespace = new Map<string | null, ScopeNames>();
  const namesFor = ({ namespace }: Pick<RawConnection, "namespace">): ScopeNames => {
    const known = byNamespace.get(namespace);
    if (known !== undefined) return known;
    const names = new ScopeNames(`named:${namespace ?? ""}:${scope_name}`, config.limit_by);
    byNamespace.set(namespace, names);
    return names;
  };
  return {
    scopeOf: (exchange) => namesFor(exchange.identities).scope,
    nameOf: (exchange) => namesFor(exchange.identities).of(exchange.request, identifierOf(exchange)),
    nameOfConnection: (connection) => namesFor(connection).of(connection, connectionIdentifier(connection)),
  };
}

class ScopeNames {
  readonly scope: string;
  readonly #ofIdentifiers: StringCache<string>;
  readonly #ofAddresses: StringCache<string>;

  constructor(scope: string, limitBy: LimitBy) {
    this.scope = scope;
    this.#ofIdentifiers = new StringCache((identifier) => `${scope}:${limitBy}=${bounded(identifier)}`, REMEMBERED);
    this.#ofAddresses = new StringCache((address) => `${scope}:ip=${address}`, REMEMBERED);
  }

  of({ clientAddress }: Pick<RawConnection, "clientAddress">, identifier: string | null | undefined): string {
    return identifier ? this.#ofIdentifiers.of(identifier) : this.#ofAddresses.of(clientAddress);
  }
}

const bounded = (identifier: string): string =>
  identifier.length > MAX_IDENTIFIER ? `sha256:${hash("sha256", identifier)}` : identifier;
