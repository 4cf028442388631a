/** The custom resource Upstream, with its targets. */
import type { Target, Upstream } from "../entities/index.ts";
import { toCamel } from "../names.ts";
import {
  type BackendRef,
  backendRef,
  type CommonSpec,
  clientCertificateRef,
  commonSpecMembers,
  entityId,
  type NameRef,
  stateColumns,
} from "./common-spec.ts";
import { type CelRule, type Derived, type KindFacts, type SpecNode, specOf } from "./kind.ts";

/** One address of the upstream. */
export interface TargetEntry extends Derived<Target, "upstream"> {
  readonly target: string;
}

/** A core Service, and its part of the requests. */
export interface UpstreamBackend extends BackendRef {
  /** Default: 100. */
  readonly weight?: number;
}

export type UpstreamSpec = CommonSpec &
  Derived<Upstream, "client_certificate" | "healthchecks"> & {
    /** In camelCase at every depth, except names of headers. */
    readonly healthchecks?: Readonly<Record<string, unknown>>;
    readonly clientCertificateRef?: NameRef;
    readonly targets?: readonly TargetEntry[];
    readonly backendRefs?: readonly UpstreamBackend[];
  };

const targets: SpecNode = {
  type: "array",
  description: "The addresses among which requests are distributed.",
  maxItems: 1024,
  listMapKeys: ["target"],
  items: specOf("targets", {
    description: "One address.",
    omit: ["upstream"],
    add: { id: entityId("The target's UUID. Derived from the upstream and the address if unset.") },
    refine: { target: { pattern: "^[A-Za-z0-9._:\\[\\]-]+$" } },
    required: ["target"],
  }),
};

const backendRefs: SpecNode = {
  type: "array",
  description:
    "Core Services among whose endpoints requests are distributed, together with the targets. Each core Service and " +
    "port may occur once.",
  maxItems: 16,
  items: {
    ...backendRef,
    description: "A core Service, by name and port.",
    properties: {
      ...backendRef.properties,
      weight: {
        type: "integer",
        description:
          "The part of the requests that all endpoints of the core Service get together, in relation to the weights of " +
          "the other core Services and the targets; 0: no requests.",
        default: 100,
        minimum: 0,
        maximum: 65_535,
      },
    },
  },
  cel: [
    {
      // `namespace` is a reserved word of CEL, which the API server escapes.
      rule:
        "self.all(one, self.exists_one(other, one.name == other.name && one.port == other.port && " +
        "has(one.__namespace__) == has(other.__namespace__) && (!has(one.__namespace__) || one.__namespace__ == other.__namespace__)))",
      message: "each core Service and port may occur once",
    },
  ],
};

/** Hash sources that need a second member. */
const detailed = ["header", "cookie", "query_arg", "uri_capture"] as const;

/** Rules for the second member: `hash_on: header` needs `hash_on_header`. Cookies share `hash_on_cookie`. */
const detailRules = (["hash_on", "hash_fallback"] as const).flatMap((place) =>
  detailed.map((source): CelRule => {
    const [member, detail] = [toCamel(place), toCamel(`${source === "cookie" ? "hash_on" : place}_${source}`)];
    return {
      rule: `!has(self.${member}) || self.${member} != '${source}' || has(self.${detail})`,
      message: `${member} ${source} requires ${detail}`,
    };
  }),
);

export const upstreamKind: KindFacts = {
  collection: "upstreams",
  shortName: "gwupstream",
  spec: specOf("upstreams", {
    omit: ["client_certificate"],
    add: {
      ...commonSpecMembers(
        "The upstream's name, a host name that is unique across namespaces: Services with this host send their " +
          "requests to the targets. Default: metadata.name in Sluice's home namespace, <namespace>.<metadata.name> " +
          "elsewhere, where a name must begin with <namespace> and a dot.",
      ),
      clientCertificateRef: clientCertificateRef("https targets"),
      targets,
      backendRefs,
    },
    cel: [
      ...detailRules,
      {
        rule:
          "!has(self.hashFallback) || self.hashFallback == 'none' || " +
          "(has(self.hashOn) && !(self.hashOn in ['none', 'cookie']))",
        message: "hashFallback requires a hashOn other than none and cookie (a client without the cookie gets one)",
      },
      {
        rule:
          "!has(self.hashOn) || !has(self.hashFallback) || self.hashOn != self.hashFallback || " +
          "self.hashOn in ['none', 'header', 'query_arg', 'uri_capture']",
        message: "hashFallback must differ from hashOn",
        fieldPath: ".hashFallback",
      },
      ...["Header", "QueryArg", "UriCapture"].map((detail) => ({
        rule:
          `!has(self.hashOn${detail}) || !has(self.hashFallback${detail}) || ` +
          `self.hashOn${detail} != self.hashFallback${detail}`,
        message: `hashOn${detail} and hashFallback${detail} must be distinct`,
        fieldPath: `.hashFallback${detail}`,
      })),
    ],
  }),
  columns: [
    { name: "Algorithm", jsonPath: ".spec.algorithm", description: "How a target is chosen." },
    { name: "Targets", jsonPath: ".spec.targets[*].target", description: "The first target." },
    { name: "Backends", jsonPath: ".spec.backendRefs[*].name", description: "The first core Service." },
    {
      name: "Host-Name",
      jsonPath: ".spec.name",
      description: "The host of Services that use the upstream.",
      priority: 1,
    },
    ...stateColumns,
  ],
};
