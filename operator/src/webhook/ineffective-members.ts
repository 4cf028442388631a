/** Members that are accepted and have no effect, for compatibility with Kong or because of other members. */
import type { Resource } from "@sluice/crds";

type Spec = Readonly<Record<string, unknown>>;

interface IneffectiveMember {
  readonly member: string;
  /** Called only when a member of the spec itself is set. */
  readonly when: (spec: Spec) => boolean;
  readonly why: string;
}

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

const idle: Readonly<Record<string, readonly IneffectiveMember[]>> = {
  Route: [
    { member: "requestBuffering", when: (spec) => spec.requestBuffering === true, why: "request bodies always stream" },
    {
      member: "responseBuffering",
      when: (spec) => spec.responseBuffering === true,
      why: "response bodies always stream",
    },
    { member: "regexPriority", when: (spec) => !hasRegex(spec), why: "no path is a regular expression (~/)" },
    {
      member: "httpsRedirectStatusCode",
      when: isPlain,
      why: "the route answers plain http, so that nothing is redirected: set protocols to [https]",
    },
    { member: "snis", when: isPlain, why: "plain http requests match regardless of it: set protocols to [https]" },
  ],
  Upstream: [
    { member: "useSrvName", when: (spec) => spec.useSrvName === true, why: "SRV records are not looked up" },
    ...["hashOn", "hashFallback"].map((member) => ({
      member,
      when: (spec: Spec) => spec[member] !== "none" && !hashes(spec),
      why: "the algorithm is not consistent-hashing",
    })),
    { member: "slots", when: (spec) => !hashes(spec), why: "the algorithm is not consistent-hashing" },
    ...details.map(([member, place, source]) => ({
      member,
      when: (spec: Spec) => spec[place] !== source,
      why: `${place} is not ${source}`,
    })),
    ...["hashOnCookie", "hashOnCookiePath"].map((member) => ({
      member,
      when: (spec: Spec) => !sources(spec).includes("cookie"),
      why: "neither hashOn nor hashFallback is cookie",
    })),
  ],
  Plugin: ["ai_metrics", "wasm_metrics"].map((member) => ({
    member: `config.${member}`,
    when: ({ plugin, config }: Spec) => plugin === "prometheus" && Object(config)[member] === true,
    why: "there is nothing of the kind to count",
  })),
};

/** One sentence per member: `spec.regexPriority has no effect: no path is a regular expression (~/)`. */
export function ineffectiveMembers({ kind, spec = {} }: Pick<Resource, "kind" | "spec">): readonly string[] {
  return (Object.hasOwn(idle, kind) ? (idle[kind] ?? []) : [])
    .filter(({ member, when }) => (member.includes(".") || (spec[member] ?? null) !== null) && when(spec))
    .map(({ member, why }) => `spec.${member} has no effect: ${why}`);
}
