/** The custom resource Upstream, with its targets. */
import type { Target, Upstream } from "../entities/index.ts";
import { toCamel } from "../names.ts";
import { type CommonSpec, clientCertificateRef, common, entityId, type NameRef, stateColumns } from "./common-spec.ts";
import { type CelRule, type Derived, type KindFacts, type SpecNode, specOf } from "./kind.ts";

/** One address of the upstream. */
export interface TargetEntry extends Derived<Target, "upstream"> {
  readonly target: string;
}

export type UpstreamSpec = CommonSpec &
  Derived<Upstream, "client_certificate" | "healthchecks"> & {
    /** In camelCase at every depth, except names of headers. */
    readonly healthchecks?: Readonly<Record<string, unknown>>;
    readonly clientCertificateRef?: NameRef;
    readonly targets?: readonly TargetEntry[];
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
      ...common(
        "The upstream's name, a host name that is unique across namespaces: Services with this host send their " +
          "requests to the targets. Default: metadata.name in Sluice's home namespace, <namespace>.<metadata.name> " +
          "elsewhere, where a name must begin with <namespace> and a dot.",
      ),
      clientCertificateRef: clientCertificateRef("https targets"),
      targets,
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
    {
      name: "Host-Name",
      jsonPath: ".spec.name",
      description: "The host of Services that use the upstream.",
      priority: 1,
    },
    ...stateColumns,
  ],
};
