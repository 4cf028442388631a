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
  validSecretRef,
} from "./row.ts";

const url = { url: "http://users:4000" };
const secure = { host: "users", protocol: "https" };
const backendRef = { name: "users", port: 80 };
const header = (name: string) => ({ name, value: "a" });

export const serviceRows: readonly CrdRow[] = [
  ...commonSpecRows(url),
  ["a url", url, null],
  ["a url with port and path", { url: "https://users.example:8443/api" }, null],
  ["host, port, protocol and path", { host: "users", port: 4000, protocol: "http", path: "/api" }, null],
  ["a backendRef", { backendRef }, null],
  ["a backendRef and a path", { backendRef, protocol: "https", path: "/api" }, null],

  ["no address", {}, /set exactly one of url, host and backendRef/],
  ["url and host", { ...url, host: "users" }, /set exactly one of url, host and backendRef/],
  ["host and backendRef", { host: "users", backendRef }, /set exactly one of/],
  ["url and backendRef", { ...url, backendRef }, /set exactly one of/],
  ["url and port", { ...url, port: 80 }, /url already contains the protocol, port and path: remove these members/],
  ["url and protocol", { ...url, protocol: "http" }, /url already contains the protocol, port and path/],
  ["url and path", { ...url, path: "/api" }, /url already contains the protocol, port and path/],
  ["backendRef and port", { backendRef, port: 80 }, /backendRef contains the port/],

  ["a url without protocol", { url: "users:4000" }, /must have the form <protocol>:\/\/<host>\[:<port>\]\[\/<path>\]/],
  ["a url without host", { url: "http://" }, /must have the form/],
  ["a url with a space in its host", { url: "http:// users" }, /must have the form/],
  ["a url of 2048 characters", { url: `http://a/${"b".repeat(2039)}` }, null],
  ["a url of 2049 characters", { url: `http://a/${"b".repeat(2040)}` }, /Too long/],
  ["a grpcs url", { url: "grpcs://users:443" }, null],
  ["an ftp url", { url: "ftp://users" }, /the protocol must be http, https, grpc, grpcs, tcp or tls/],
  ["a tcp url", { url: "tcp://users:1" }, null],
  ["a tls url", { url: "tls://users:1" }, null],
  ["a tcp url with a path", { url: "tcp://users:1/a" }, /a tcp or tls URL cannot have a path/],
  ["a udp url", { url: "udp://users:1" }, /the protocol must be/],
  ["a grpc url with a path", { url: "grpc://users/a" }, /cannot have a path: the path of a call names its method/],

  ...lengthRows("host", { from: 1, to: 255 }, (host) => ({ host })),
  ...numbers("port", { from: 0, to: 65_535 }, (port) => ({ host: "users", port })),
  ["a port as a string", { host: "users", port: "80" }, /spec\.port: Invalid value: "string".*must be of type integer/],
  ["a port with a fraction", { host: "users", port: 80.5 }, /spec\.port/],
  ["a path of 4096 characters", { host: "users", path: `/${"a".repeat(4095)}` }, null],
  ["a path of 4097 characters", { host: "users", path: `/${"a".repeat(4096)}` }, /Too long/],
  ...knownValueRows("protocol", ["http", "https", "grpc", "grpcs", "tcp", "tls", "tls_passthrough"], (protocol) => ({
    host: "users",
    protocol,
  })),
  ["protocol udp", { host: "users", protocol: "udp" }, /spec\.protocol: .*udp is not supported/],
  ["tcp and a path", { host: "users", protocol: "tcp", path: "/a" }, /a tcp or tls service cannot have a path/],
  ["grpc and a path", { host: "users", protocol: "grpc", path: "/a" }, /a grpc or grpcs service cannot have a path/],

  ...(["connectTimeout", "readTimeout", "writeTimeout"] as const).flatMap((member) =>
    numbers(member, { from: 1, to: 2_147_483_646 }, (value) => ({ ...url, [member]: value })),
  ),
  ...numbers("retries", { from: 0, to: 32_767 }, (retries) => ({ ...url, retries })),
  ["a retry budget", { ...url, retryBudget: { percent: 12.5 } }, null],
  ...numbers("minConcurrency", { from: 0, to: 1_000_000 }, (minConcurrency) => ({
    ...url,
    retryBudget: { minConcurrency },
  })),
  ["a member in the admin API's spelling", { ...url, connect_timeout: 1 }, /unknown field "spec\.connect_timeout"/],
  ["enabled as a string", { ...url, enabled: "no" }, /spec\.enabled.*must be of type boolean/],
  ["enabled false", { ...url, enabled: false }, null],

  ...referenceRows("a backend", (ref) => ({ backendRef: { port: 80, ...ref } })).filter(
    // Without the rows for names that are long or have dots: names of core Services are DNS labels, which are shorter
    // and have no dots.
    ([what]) => !/characters|dots$/.test(what) || /namespace/.test(what),
  ),
  ...lengthRows("backend name", { from: 1, to: 63 }, (name) => ({ backendRef: { name, port: 80 } })),
  ["a backend whose name begins with a digit", { backendRef: { name: "1a", port: 80 } }, /should match/],
  ["a backend without port", { backendRef: { name: "a" } }, /spec\.backendRef\.port: Required value/],
  ...numbers("a backend's port", { from: 1, to: 65_535 }, (port) => ({ backendRef: { name: "a", port } })),

  ["a client certificate for an https url", { url: "https://users", clientCertificateRef: { name: "client" } }, null],
  ["a client certificate for grpcs", { host: "a", protocol: "grpcs", clientCertificateRef: { name: "client" } }, null],
  ...referenceRows("a client certificate", (clientCertificateRef) => ({ ...secure, clientCertificateRef })),
  [
    "a client certificate for a plain upstream",
    { ...url, clientCertificateRef: { name: "client" } },
    /clientCertificateRef requires the protocol https, grpcs or tls/,
  ],
  ["tlsVerify for https", { ...secure, tlsVerify: false }, null],
  [
    "tlsVerify for a plain upstream",
    { ...url, tlsVerify: true },
    /tlsVerify requires the protocol https, grpcs or tls/,
  ],
  ["tlsVerifyDepth for https", { ...secure, tlsVerifyDepth: 2 }, null],
  [
    "tlsVerifyDepth for a plain upstream",
    { ...url, tlsVerifyDepth: 2 },
    /tlsVerifyDepth requires the protocol https, grpcs or tls/,
  ],
  ["an empty list of CA certificates", { ...secure, caCertificateRefs: [] }, null],
  ["ids of CA certificates", { ...secure, caCertificates: [uuid] }, /unknown field "spec\.caCertificates"/],
  ...referenceRows("a CA certificate", (ref) => ({ ...secure, caCertificateRefs: [ref] })),
  ...listLengthRows("CA certificates", { to: 64 }, (count) => ({
    ...secure,
    caCertificateRefs: texts(count).map((name) => ({ name })),
  })),
  [
    "CA certificates for a plain upstream",
    { ...url, caCertificateRefs: [{ name: "internal" }] },
    /caCertificateRefs requires the protocol https, grpcs or tls/,
  ],

  ["a header with a value", { ...url, upstreamHeaders: [header("X-A")] }, null],
  ["a header from a Secret", { ...url, upstreamHeaders: [{ name: "X-A", secretRef: validSecretRef }] }, null],
  [
    "a header with a value and a Secret",
    { ...url, upstreamHeaders: [{ ...header("X-A"), secretRef: validSecretRef }] },
    /exactly one of value and secretRef/,
  ],
  [
    "a header with neither a value nor a Secret",
    { ...url, upstreamHeaders: [{ name: "X-A" }] },
    /exactly one of value and secretRef/,
  ],
  ["the same header twice", { ...url, upstreamHeaders: [header("X-A"), header("X-A")] }, /Duplicate value/],
  [
    "a header without a name",
    { ...url, upstreamHeaders: [{ value: "a" }] },
    /upstreamHeaders\[0\]\.name: Required value/,
  ],
  ["a header whose name has a space", { ...url, upstreamHeaders: [header("X A")] }, /upstreamHeaders\[0\]\.name/],
  ...listLengthRows("headers", { to: 16 }, (count) => ({
    ...url,
    upstreamHeaders: Array.from({ length: count }, (_, index) => header(`X-${index}`)),
  })),
];
