/**
 * Members that are accepted but have no effect, because Sluice has them only for compatibility with Kong, or because of
 * the values of other members.
 */
import type { Resource } from "@sluice/crds";

type Spec = Readonly<Record<string, unknown>>;

/**
 * A member, the reason why it has no effect, the condition under which it has none (`when`), and the requests for which
 * it has none (default: all). For a member directly in the spec, `when` is called only if the member is set.
 */
type IneffectiveMember = readonly [member: string, why: string, when: (spec: Spec) => boolean, on?: string];

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const hasRegex = ({ paths }: Spec): boolean => list(paths).some((path) => typeof path === "string" && path[0] === "~");
const protocolsOf = ({ protocols }: Spec): readonly unknown[] => (protocols ? list(protocols) : ["http", "https"]);
const isPlain = (spec: Spec): boolean =>
  protocolsOf(spec).some((protocol) => protocol === "http" || protocol === "grpc");
const hashes = ({ algorithm }: Spec): boolean => algorithm === "consistent-hashing";
const sources = ({ hashOn, hashFallback }: Spec): readonly unknown[] => [hashOn, hashFallback];

const details = [
  ["hashOnHeader", "hashOn", "header"],
  ["hashFallbackHeader", "hashFallback", "header"],
  ["hashOnQueryArg", "hashOn", "query_arg"],
  ["hashFallbackQueryArg", "hashFallback", "query_arg"],
  ["hashOnUriCapture", "hashOn", "uri_capture"],
  ["hashFallbackUriCapture", "hashFallback", "uri_capture"],
] as const;

const NOT_HASHING = "the algorithm is not consistent-hashing";
const NO_COOKIE = "neither hashOn nor hashFallback is cookie";

const idle: Readonly<Record<string, readonly IneffectiveMember[]>> = {
  Route: [
    ["requestBuffering", "request bodies always stream", (spec) => spec.requestBuffering === true],
    ["responseBuffering", "response bodies always stream", (spec) => spec.responseBuffering === true],
    ["regexPriority", "no path is a regular expression (~/)", (spec) => !hasRegex(spec)],
    [
      "httpsRedirectStatusCode",
      "the route also accepts requests without TLS, so it redirects none: set protocols to [https]",
      isPlain,
    ],
    [
      "snis",
      "they match without a server name: set protocols to [https] or [grpcs]",
      isPlain,
      " on requests without TLS",
    ],
  ],
  Upstream: [
    ["hashOn", NOT_HASHING, (spec) => spec.hashOn !== "none" && !hashes(spec)],
    ["hashFallback", NOT_HASHING, (spec) => spec.hashFallback !== "none" && !hashes(spec)],
    ["slots", NOT_HASHING, (spec) => !hashes(spec)],
    ["slowStartWindow", "the algorithm is consistent-hashing", hashes],
    ...details.map(
      ([member, place, source]): IneffectiveMember => [
        member,
        `${place} is not ${source}`,
        (spec) => spec[place] !== source,
      ],
    ),
    ["hashOnCookie", NO_COOKIE, (spec) => !sources(spec).includes("cookie")],
    ["hashOnCookiePath", NO_COOKIE, (spec) => !sources(spec).includes("cookie")],
  ],
  Plugin: ["ai_metrics", "wasm_metrics"].map((member) => [
    `config.${member}`,
    "Sluice has no such features to count",
    ({ plugin, config }) => plugin === "prometheus" && Object(config)[member] === true,
  ]),
};

/** One sentence per member without effect: `spec.regexPriority has no effect: no path is a regular expression (~/)`. */
export function ineffectiveMembers({ kind, spec = {} }: Pick<Resource, "kind" | "spec">): readonly string[] {
  return (Object.hasOwn(idle, kind) ? (idle[kind] ?? []) : [])
    .filter(([member, , when]) => (member.includes(".") || (spec[member] ?? null) !== null) && when(spec))
    .map(([member, why, , on = ""]) => `spec.${member} has no effect${on}: ${why}`);
}
