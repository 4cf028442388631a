import {
  type CrdRow,
  commonSpecRows,
  knownValueRows,
  lengthRows,
  listLengthRows,
  numbers,
  referenceRows,
  texts,
  uuid,
} from "./row.ts";

const places = ["hashOn", "hashFallback"] as const;
const sources = ["none", "consumer", "ip", "header", "cookie", "path", "query_arg", "uri_capture"] as const;
/** The members that the hash sources require. */
const details = {
  hashOnHeader: "x-a",
  hashOnCookie: "c",
  hashOnQueryArg: "q",
  hashOnUriCapture: "u",
  hashFallbackHeader: "x-b",
  hashFallbackQueryArg: "r",
  hashFallbackUriCapture: "v",
};
const active = (member: object) => ({ healthchecks: { active: member } });
const passive = (member: object) => ({ healthchecks: { passive: member } });

const backend = { name: "users", port: 80 };

export const upstreamRows: readonly CrdRow[] = [
  ...commonSpecRows({}),
  ["a name and targets", { name: "users.internal", targets: [{ target: "10.0.0.1:80" }, { target: "a" }] }, null],
  ["no members", {}, null],
  ["a target with all members", { targets: [{ target: "[::1]:80", weight: 0, id: uuid, tags: ["a"] }] }, null],
  ["the same target twice", { targets: [{ target: "a" }, { target: "a" }] }, /spec\.targets\[1\]: Duplicate value/],
  ["a target with a path", { targets: [{ target: "http://a/b" }] }, /spec\.targets\[0\]\.target/],
  ["a target without address", { targets: [{ weight: 1 }] }, /spec\.targets\[0\]\.target: Required value/],
  ["a target whose id is not a UUID", { targets: [{ target: "a", id: "1" }] }, /targets\[0\]\.id/],
  ["strings as targets", { targets: ["a"] }, /spec\.targets\[0\].*must be of type object/],
  ...lengthRows("target", { from: 1, to: 260 }, (target) => ({ targets: [{ target }] })),
  ...numbers("weight", { from: 0, to: 65_535 }, (weight) => ({ targets: [{ target: "a", weight }] })),
  ...listLengthRows("targets", { to: 1024 }, (count) => ({ targets: texts(count).map((target) => ({ target })) })),

  ["core Services and targets", { targets: [{ target: "a" }], backendRefs: [backend, { ...backend, port: 81 }] }, null],
  [
    "a core Service with all members, and one of the same name in another namespace",
    { backendRefs: [{ ...backend, namespace: "shop", weight: 0 }, backend] },
    null,
  ],
  [
    "the same core Service and port twice",
    { backendRefs: [backend, { ...backend, weight: 1 }] },
    /spec\.backendRefs: .*each core Service and port may occur once/,
  ],
  ["a core Service without a port", { backendRefs: [{ name: "a" }] }, /spec\.backendRefs\[0\]\.port: Required value/],
  ["a core Service without a name", { backendRefs: [{ port: 80 }] }, /spec\.backendRefs\[0\]\.name: Required value/],
  ...numbers("core Service weight", { from: 0, to: 65_535 }, (weight) => ({ backendRefs: [{ ...backend, weight }] })),
  ...numbers("core Service port", { from: 1, to: 65_535 }, (port) => ({ backendRefs: [{ ...backend, port }] })),
  ...listLengthRows("core Services", { to: 16 }, (count) => ({
    backendRefs: Array.from({ length: count }, (_, index) => ({ ...backend, port: 1 + index })),
  })),

  ...knownValueRows(
    "algorithm",
    ["consistent-hashing", "least-connections", "round-robin", "latency"],
    (algorithm) => ({
      algorithm,
    }),
  ),
  ...knownValueRows("hashOn", sources, (hashOn) => ({ ...details, hashOn })),
  ...knownValueRows(
    "hashFallback",
    ["none", "consumer", "header", "cookie", "path", "query_arg", "uri_capture"],
    (word) => ({
      ...details,
      hashOn: "ip",
      hashFallback: word,
    }),
  ),
  ["a hash on a header", { algorithm: "consistent-hashing", hashOn: "header", hashOnHeader: "x-user" }, null],
  ["different headers for hashOn and hashFallback", { ...details, hashOn: "header", hashFallback: "header" }, null],
  ...places.flatMap((place): readonly CrdRow[] =>
    (
      [
        ["header", `${place}Header`],
        ["cookie", "hashOnCookie"],
        ["query_arg", `${place}QueryArg`],
        ["uri_capture", `${place}UriCapture`],
      ] as const
    ).map(([source, detail]) => [
      `${place} ${source} without ${detail}`,
      { ...details, [detail]: undefined, hashOn: "ip", [place]: source },
      new RegExp(`${place} ${source} requires ${detail}`),
    ]),
  ),
  ["hashFallback without hashOn", { hashFallback: "ip" }, /hashFallback requires a hashOn other than none and cookie/],
  [
    "hashFallback for hashOn cookie",
    { ...details, hashOn: "cookie", hashFallback: "ip" },
    /hashFallback requires a hashOn/,
  ],
  ...["consumer", "ip", "path"].map(
    (source): CrdRow => [
      `hashOn ${source} and hashFallback ${source}`,
      { hashOn: source, hashFallback: source },
      /hashFallback must differ from hashOn/,
    ],
  ),
  ...["Header", "QueryArg", "UriCapture"].map(
    (detail): CrdRow => [
      `the same value for hashOn${detail} and hashFallback${detail}`,
      { [`hashOn${detail}`]: "a", [`hashFallback${detail}`]: "a" },
      new RegExp(`hashOn${detail} and hashFallback${detail} must be distinct`),
    ],
  ),
  ...Object.keys(details).flatMap((member) => lengthRows(member, { from: 1, to: 256 }, (text) => ({ [member]: text }))),
  ...numbers("slots", { from: 10, to: 65_536 }, (slots) => ({ slots })),
  ...lengthRows("hostHeader", { from: 1, to: 260 }, (hostHeader) => ({ hostHeader })),
  ["an outlier detection", { outlierDetection: { baseEjectionTime: 0.5, maxEjectionTime: 60 } }, null],
  ...numbers("maxEjectionPercent", { from: 0, to: 100 }, (maxEjectionPercent) => ({
    outlierDetection: { maxEjectionPercent },
  })),
  ["useSrvName as a string", { useSrvName: "no" }, /must be of type boolean/],
  ...referenceRows("a client certificate", (clientCertificateRef) => ({ clientCertificateRef })),
  ["the admin API's member client_certificate", { client_certificate: { id: uuid } }, /unknown field/],

  ["health checks", active({ httpPath: "/up", headers: { "x-a": ["b"] }, healthy: { interval: 0.5 } }), null],
  ["health checks in Kong's spelling", active({ http_path: "/" }), /unknown field/],
  ...numbers("threshold", { from: 0, to: 100 }, (threshold) => ({ healthchecks: { threshold } })),
  ...knownValueRows("active type", ["tcp", "http", "https", "grpc", "grpcs"], (type) => active({ type })),
  ...knownValueRows("passive type", ["tcp", "http", "https", "grpc", "grpcs"], (type) => passive({ type })),
  ...numbers("timeout", { from: 0, to: 65_535 }, (timeout) => active({ timeout })),
  ...numbers("concurrency", { from: 1, to: 2_147_483_647 }, (concurrency) => active({ concurrency })),
  ...lengthRows("httpsSni", { from: 1, to: 255 }, (httpsSni) => active({ httpsSni })),
  ...numbers("healthy interval", { from: 0, to: 65_535 }, (interval) => active({ healthy: { interval } })),
  ...numbers("healthy successes", { from: 0, to: 255 }, (successes) => active({ healthy: { successes } })),
  ...numbers("healthy status", { from: 100, to: 999 }, (status) => active({ healthy: { httpStatuses: [status] } })),
  ...listLengthRows("healthy statuses", { to: 128 }, (count) => ({
    ...active({ healthy: { httpStatuses: Array.from({ length: count }, (_, index) => 100 + index) } }),
  })),
  ...["tcpFailures", "timeouts", "httpFailures"].flatMap((member) => [
    ...numbers(`active ${member}`, { from: 0, to: 255 }, (value) => active({ unhealthy: { [member]: value } })),
    ...numbers(`passive ${member}`, { from: 0, to: 255 }, (value) => passive({ unhealthy: { [member]: value } })),
  ]),
  ["an interval for passive checks", passive({ healthy: { interval: 1 } }), /unknown field/],
];
