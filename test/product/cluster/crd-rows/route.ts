import {
  type CrdRow,
  commonSpecRows,
  knownValueRows,
  lengthRows,
  listLengthRows,
  numbers,
  referenceRows,
  texts,
} from "./row.ts";

const paths = { paths: ["/users"] };
const grpc = { protocols: ["grpc", "grpcs"], hosts: ["a.test"] };

export const routeRows: readonly CrdRow[] = [
  ...commonSpecRows(paths),
  ["paths", paths, null],
  ["a service and a regex path", { serviceRef: { name: "users" }, paths: ["~/users/\\d+$"] }, null],
  ["hosts alone", { hosts: ["*.example.org"] }, null],
  ["methods alone", { methods: ["GET", "PROPFIND"] }, null],
  ["headers alone", { headers: { "x-version": ["1", "2"] } }, null],
  ["snis for https", { protocols: ["https"], snis: ["example.org"] }, null],
  ["no attribute to match", {}, /set at least one of paths, hosts, methods and headers/],
  ["empty lists to match", { paths: [], hosts: [] }, /set at least one of/],
  ["an empty map of headers", { headers: {} }, /set at least one of/],
  ...referenceRows("a service", (serviceRef) => ({ ...paths, serviceRef })),
  ["a URL as the name of a service", { ...paths, serviceRef: { name: "http://users" } }, /spec\.serviceRef\.name/],

  ["a path without a slash", { paths: ["users"] }, /should start with: \/ \(fixed path\) or ~\/ \(regex path\)/],
  ["a regex without a slash", { paths: ["~users"] }, /should start with/],
  ["an empty path", { paths: [""] }, /spec\.paths\[0\]/],
  ["a path with an empty segment", { paths: ["/a//b"] }, /must not have empty segments/],
  ["a regex with an empty segment", { paths: ["~/a//b"] }, /must not have empty segments/],
  ["the segment .. in a path", { paths: ["/a/../b"] }, /must not contain the segments \. and \.\./],
  ["the segment . at the end of a path", { paths: ["/a/."] }, /must not contain the segments/],
  ["a path of names that begin with dots", { paths: ["/.well-known/..a"] }, null],
  ["two dots in a regex", { paths: ["~/a/..$"] }, null],
  ["a path of 1024 characters", { paths: [`/${"a".repeat(1023)}`] }, null],
  ["a path of 1025 characters", { paths: [`/${"a".repeat(1024)}`] }, /Too long/],
  ...listLengthRows("paths", { to: 256 }, (count) => ({ paths: texts(count).map((text) => `/${text}`) })),
  ["a string instead of a list of paths", { paths: "/users" }, /spec\.paths.*must be of type array/],

  ["a host that ends in a star", { hosts: ["example.*"] }, null],
  ["a host with a port", { hosts: ["*.example.org:8443"] }, null],
  ["an IPv6 address as host", { hosts: ["[::1]:80"] }, null],
  ["a host with a star in the middle", { hosts: ["a.*.org"] }, /a wildcard \* must be the whole first or last label/],
  ["a host with two stars", { hosts: ["*.a.*"] }, /a wildcard \* must be/],
  ["a star alone as host", { hosts: ["*"] }, /a wildcard \* must be/],
  ["a host with a space", { hosts: ["a b"] }, /must be a host name or an IP address/],
  ["a host with a path", { hosts: ["a/b"] }, /must be a host name or an IP address/],
  ...lengthRows("host", { from: 1, to: 260 }, (host) => ({ hosts: [host] })),
  ...listLengthRows("hosts", { to: 256 }, (count) => ({ hosts: texts(count) })),

  ["a method in lower case", { methods: ["get"] }, /must be in upper case, such as GET/],
  ["a method with a digit", { methods: ["GET2"] }, /must be in upper case/],
  ["a method of 32 characters", { methods: ["A".repeat(32)] }, null],
  ["a method of 33 characters", { methods: ["A".repeat(33)] }, /Too long/],
  ...listLengthRows("methods", { to: 16 }, (count) => ({
    methods: Array.from({ length: count }, (_, index) => String.fromCharCode(65 + index)),
  })),

  ["the header Host", { headers: { HOST: ["a"] } }, /headers cannot contain Host: use hosts/],
  ["a header without values", { ...paths, headers: { "x-version": [] } }, /spec\.headers/],
  ["a header with an empty value", { headers: { "x-version": [""] } }, /spec\.headers/],
  ["a header with a string instead of a list", { headers: { "x-version": "1" } }, /must be of type array/],
  ...lengthRows("header value", { to: 1024 }, (value) => ({ headers: { a: [value] } })),
  ...listLengthRows("header values", { from: 1, to: 64 }, (count) => ({ ...paths, headers: { a: texts(count) } })),
  ["16 headers", { headers: Object.fromEntries(texts(16).map((name) => [name, ["a"]])) }, null],
  ["17 headers", { headers: Object.fromEntries(texts(17).map((name) => [name, ["a"]])) }, /Too many: 17/],

  ...lengthRows("server name", { from: 1, to: 255 }, (sni) => ({ protocols: ["https"], snis: [sni] })),
  ...listLengthRows("server names", { to: 256 }, (count) => ({ ...paths, snis: texts(count) })),
  [
    "server names for plain http",
    { ...paths, protocols: ["http"], snis: ["a"] },
    /snis require the protocol https, grpcs, tls or tls_passthrough/,
  ],

  ...[["http"], ["https"], ["http", "https"], ["grpc"], ["grpcs", "grpc"]].map(
    (protocols): CrdRow => [`protocols ${protocols}`, { ...paths, protocols }, null],
  ),
  ["no protocols", { ...paths, protocols: [] }, /spec\.protocols.*at least 1 items/],
  ["an unknown protocol", { ...paths, protocols: ["ftp"] }, /spec\.protocols\[0\]: Unsupported value/],
  ["protocol udp", { ...paths, protocols: ["udp"] }, /spec\.protocols: .*udp is not supported/],
  ["tcp by destination", { protocols: ["tcp"], destinations: [{ port: 9000 }] }, null],
  ["tcp and tls by source", { protocols: ["tcp", "tls"], sources: [{ ip: "10.0.0.0/8", port: 1 }] }, null],
  ["tls by server name", { protocols: ["tls"], snis: ["a.example"] }, null],
  ["tls_passthrough by server name", { protocols: ["tls_passthrough"], snis: ["a.example"] }, null],
  [
    "tls_passthrough by destination",
    { protocols: ["tls_passthrough"], destinations: [{ port: 9000 }] },
    /tls_passthrough requires snis/,
  ],
  ["tcp by server name", { protocols: ["tcp"], snis: ["a.example"] }, /snis require the protocol/],
  ["tcp without a match", { protocols: ["tcp"] }, /for tcp and tls, one of sources, destinations and snis/],
  [
    "tcp and http",
    { ...paths, protocols: ["tcp", "http"] },
    /protocols cannot mix tcp, tls or tls_passthrough with http/,
  ],
  [
    "tls and tls_passthrough",
    { protocols: ["tls", "tls_passthrough"], snis: ["a.example"] },
    /protocols cannot mix tls_passthrough with another protocol/,
  ],
  ...["paths", "hosts", "methods", "headers"].map(
    (member): CrdRow => [
      `tcp with ${member}`,
      {
        protocols: ["tcp"],
        destinations: [{ port: 9000 }],
        ...{ paths: { paths: ["/"] }, hosts: { hosts: ["a"] }, methods: { methods: ["GET"] } }[member],
        ...(member === "headers" && { headers: { a: ["b"] } }),
      },
      new RegExp(`spec\\.${member}: .*${member} are for requests`),
    ],
  ),
  ["http and grpc", { ...paths, protocols: ["http", "grpc"] }, /protocols cannot mix http or https with grpc or grpcs/],
  ["https and grpcs", { ...paths, protocols: ["https", "grpcs"] }, /cannot mix/],
  ["grpc with methods", { ...grpc, methods: ["POST"] }, /methods require the protocol http or https/],
  ["grpc and stripPath true", { ...grpc, stripPath: true }, /stripPath cannot be true for grpc or grpcs/],
  ["grpc and stripPath false", { ...grpc, stripPath: false }, null],
  ["sources", { ...paths, sources: [{ ip: "10.0.0.1" }] }, /sources require the protocol tcp, tls or tls_passthrough/],
  [
    "destinations",
    { ...paths, destinations: [{ port: 9000 }] },
    /destinations require the protocol tcp, tls or tls_passthrough/,
  ],

  ...knownValueRows("httpsRedirectStatusCode", [301, 302, 307, 308, 426], (code) => ({
    ...paths,
    httpsRedirectStatusCode: code,
  })),
  ...knownValueRows("pathHandling", ["v0", "v1"], (pathHandling) => ({ ...paths, pathHandling })),
  ...numbers("regexPriority", { from: -2_147_483_648, to: 2_147_483_647 }, (regexPriority) => ({
    ...paths,
    regexPriority,
  })),
  ...["stripPath", "preserveHost", "requestBuffering", "responseBuffering"].flatMap((member): readonly CrdRow[] => [
    [`${member} false`, { ...paths, [member]: false }, null],
    [`${member} as a string`, { ...paths, [member]: "yes" }, /must be of type boolean/],
  ]),
];
