/** Leaving out an entity or a member must not let through a request that Kong refuses: one row for each such case. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkDocument } from "../load.ts";
import { servablePart } from "./servable-part.ts";

type Members = Readonly<Record<string, unknown>>;

const open = { name: "open", paths: ["/"], service: "s" };
const keyAuth = { name: "key-auth" };
/** RE2 has no look-around. */
const lookAround = { name: "r", paths: ["~/admin/(?!health)"], service: "s" };
const denyBanned = { name: "acl", config: { deny: ["banned"] } };
/** Longer than the limit of groups. */
const tooLong = "g".repeat(1025);

interface Expected {
  /** The closed plugins as `name`, `name of <singular>`. */
  readonly closed: readonly string[];
  /** Members of the route `r` in the result; null: it is left out. */
  readonly route?: Members | null;
  readonly left?: Readonly<Record<string, number>>;
  readonly outcomes?: readonly string[];
  /** Those of the closed plugins. */
  readonly protocols?: readonly unknown[];
}

const caCertificate = `-----BEGIN CERTIFICATE-----
MIIBjjCCATOgAwIBAgIUHS+ewl+MXg8TsMLl8BQrs0mfH0cwCgYIKoZIzj0EAwIw
GzEZMBcGA1UEAwwQZ29sZGVuIGF1dGhvcml0eTAgFw0yNjExMjgwMjA4NDVaGA8y
MTI2MTEwNDAyMDg0NVowGzEZMBcGA1UEAwwQZ29sZGVuIGF1dGhvcml0eTBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABE5+UKDliRjFxEIwz3YU1licjD9Q3b26MNuo
BNMPmj7EsiVpBt9chAITrHTD4+N4OikVIjaWvM1UyQmSUZRqNaqjUzBRMB0GA1Ud
DgQWBBThA2p806nDMdox2Ug3Yhbbo/A8ATAfBgNVHSMEGDAWgBThA2p806nDMdox
2Ug3Yhbbo/A8ATAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0kAMEYCIQDf
CwSRgTlojcAVc2wFfIQoGMqQGajTepogajezfaVE6QIhAIKVnGgf345LAwbQUhRO
lkfv2AdIJUQcAL45GqKYcDf5
-----END CERTIFICATE-----
`;
const authority = "0d3a1f0e-7c62-4d39-8b42-62a2a0a90001";
const caCertificates = [{ id: authority, cert: caCertificate }];
const mtlsAuth = (config: Members) => ({ name: "mtls-auth", config: { ca_certificates: [authority], ...config } });
const guestByDefault = mtlsAuth({ default_consumer: "guest" });
const openidConnect = {
  name: "openid-connect",
  config: {
    issuer: "https://i.example",
    auth_methods: ["bearer"],
    consumer_claim: ["sub"],
    consumer_optional: true,
    authenticated_groups_claim: ["groups"],
  },
};
const mallory = { username: "mallory", of_the_future: 1 };
const banned = { ...mallory, acls: [{ group: "banned" }] };

const closedRoute = ["unavailable-route of route"];

const table: readonly (readonly [what: string, more: Members, expected: Expected])[] = [
  [
    "a route with a plugin of its own is kept with the literal prefix of its regular expression",
    { routes: [open, { ...lookAround, methods: ["GET"], hosts: ["a.example"], plugins: [keyAuth] }] },
    {
      closed: closedRoute,
      route: { paths: ["~/admin/"], methods: ["GET"], hosts: ["a.example"] },
      outcomes: ["closed routes.1.paths.0"],
    },
  ],
  [
    "a route with a plugin of its service is kept closed",
    { services: [{ name: "s", url: "https://s.example", plugins: [keyAuth] }], routes: [open, lookAround] },
    { closed: closedRoute, route: { paths: ["~/admin/"] } },
  ],
  [
    "a route below a global plugin is kept closed",
    { routes: [open, lookAround], plugins: [keyAuth] },
    { closed: closedRoute, route: { paths: ["~/admin/"] } },
  ],
  [
    "a route with an unknown plugin is kept closed",
    { routes: [open, { ...lookAround, plugins: [{ name: "of-our-own" }] }] },
    { closed: ["of-our-own of route", ...closedRoute] },
  ],
  [
    "a route without a plugin that may protect is left out",
    {
      routes: [open, lookAround],
      plugins: [
        { name: "cors", route: "r" },
        { ...keyAuth, route: "r", enabled: false },
        { ...keyAuth, route: "open" },
      ],
    },
    { closed: [], route: null, outcomes: ["left out routes.1.paths.0 +2"] },
  ],
  [
    "a route without a service is kept closed: Kong answers 503",
    { routes: [open, { name: "r", paths: ["~/admin/(?!health)"] }] },
    { closed: closedRoute, route: { paths: ["~/admin/"] }, outcomes: ["closed routes.1.paths.0"] },
  ],
  [
    "a route for https only is kept closed: Kong answers http with 426",
    { routes: [open, { ...lookAround, protocols: ["https"] }] },
    { closed: closedRoute, route: { paths: ["~/admin/"], protocols: ["https"] } },
  ],
  [
    "a route for grpcs only is kept closed: Kong answers grpc with 426",
    { routes: [open, { ...lookAround, protocols: ["grpcs"] }] },
    { closed: closedRoute, route: { protocols: ["grpcs"] } },
  ],
  [
    "a route for https only is kept closed without a service if its service cannot be served",
    {
      services: [
        { name: "s", url: "https://s.example" },
        { name: "t", url: "https://t.example", of_the_future: 1 },
      ],
      routes: [open, { name: "r", paths: ["/t"], protocols: ["https"], service: "t" }],
    },
    { closed: closedRoute, route: { service: null, protocols: ["https"] } },
  ],
  [
    "a route of a disabled service is left out, because Kong does not have it",
    { services: [{ name: "s", url: "https://s.example", enabled: false }], routes: [lookAround], plugins: [keyAuth] },
    { closed: [], route: null },
  ],
  [
    "a route keeps its other paths, and a path without a literal prefix becomes any path",
    { routes: [{ ...lookAround, paths: ["/plain", "~/(?=a)"] }], plugins: [keyAuth] },
    { closed: closedRoute, route: { paths: ["/plain", "~/"] } },
  ],
  [
    "a header with a regular expression that RE2 lacks may have any value",
    { routes: [open, { name: "r", headers: { "x-role": ["~*(?=admin)"] } }], plugins: [keyAuth] },
    { closed: closedRoute, route: { headers: { "x-role": ["~*.*"] } } },
  ],
  [
    "a route with members that Sluice lacks is kept closed without them",
    { routes: [open, { ...lookAround, paths: ["/admin"], regex_priority: 0.5, of_the_future: 1 }], plugins: [keyAuth] },
    { closed: closedRoute, route: { paths: ["/admin"], regex_priority: 2 ** 31 - 1 } },
  ],
  [
    "a route for WebSocket of the paid editions is kept closed for http",
    { routes: [open, { name: "r", paths: ["/ws"], protocols: ["ws", "wss"] }], plugins: [keyAuth] },
    { closed: closedRoute, route: { protocols: ["http", "https"] } },
  ],
  [
    "a route whose requests cannot be recognized closes all requests",
    { routes: [open, { name: "r", expression: 'http.path ^= "/admin"', plugins: [keyAuth] }] },
    { closed: ["unavailable-route"], route: null, outcomes: ["all closed routes.1.expression", "all closed routes.1"] },
  ],
  [
    "a route with a bad host closes all requests, because without its host it would lose to other routes",
    { routes: [open, { name: "r", hosts: ["a.*.example"], plugins: [keyAuth] }] },
    { closed: ["unavailable-route"], route: null, outcomes: ["all closed routes.1.hosts.0"] },
  ],
  [
    "a route whose service cannot be served is kept closed without a service, and its other routes are left out",
    {
      services: [
        { name: "s", url: "https://s.example" },
        { name: "t", url: "tcp://t:1" },
      ],
      routes: [open, { name: "r", paths: ["/t"], service: "t", plugins: [keyAuth] }, { paths: ["/u"], service: "t" }],
    },
    {
      closed: closedRoute,
      route: { service: null, paths: ["/t"] },
      left: { routes: 2 },
      outcomes: ["left out services.1.protocol +1, closed r"],
    },
  ],
  [
    "a route whose service does not exist is kept closed",
    { routes: [open, { name: "r", paths: ["/t"], service: "ghost", plugins: [keyAuth] }] },
    { closed: closedRoute, route: { paths: ["/t"] }, outcomes: ["closed routes.1.service"] },
  ],
  [
    "a route is kept closed if the client certificate of its service is left out",
    {
      services: [{ name: "s", url: "https://s.example", client_certificate: "0d3a1f0e-7c62-4d39-8b42-62a2a0a90001" }],
      certificates: [{ id: "0d3a1f0e-7c62-4d39-8b42-62a2a0a90001", cert: "{vault://env/c}", key: "{vault://env/k}" }],
      routes: [{ ...open, name: "r" }],
      plugins: [keyAuth],
    },
    { closed: closedRoute, route: { service: null }, outcomes: ["left out certificates.0.cert +1, closed r"] },
  ],
  [
    "a route is kept closed if its service has an upstream that is left out: its host would be looked up in DNS",
    {
      services: [{ name: "s", url: "https://pool" }],
      upstreams: [{ name: "pool", targets: [{ target: "a.example:1" }], id: "not an id" }],
      routes: [{ ...open, name: "r" }],
      plugins: [keyAuth],
    },
    { closed: closedRoute, route: { service: null }, left: { upstreams: 0, targets: 0, services: 0 } },
  ],
  [
    "an upstream is served without the members that Sluice lacks",
    {
      services: [{ name: "s", url: "https://pool" }],
      upstreams: [{ name: "pool", algorithm: "sticky-sessions", targets: [{ target: "a.example:1" }] }],
      routes: [open],
    },
    { closed: [], left: { upstreams: 1, targets: 1, routes: 1 }, outcomes: ["left out upstreams.0.algorithm"] },
  ],
  [
    "tags that Sluice refuses are left out, and their entities are served",
    {
      routes: [open],
      plugins: [{ ...denyBanned, tags: ["a,b"] }],
      consumers: [{ username: "c", tags: ["a/b"], acls: [{ group: "banned", tags: ["a/b"] }] }],
    },
    {
      closed: [],
      left: { consumers: 1, acls: 1, plugins: 1 },
      outcomes: ["left out plugins.0.tags.0", "left out consumers.0.acls.0.tags.0", "left out consumers.0.tags.0"],
    },
  ],
  [
    "deny of acl closes if a consumer's group that it names is left out",
    {
      plugins: [
        { name: "acl", config: { deny: [tooLong] } },
        { name: "acl", route: "open", config: { deny: ["other"] } },
        { name: "acl", service: "s", config: { allow: [tooLong] } },
      ],
      consumers: [{ username: "c", acls: [{ group: tooLong }] }],
    },
    { closed: ["acl", "acl of service"], left: { acls: 0 } },
  ],
  [
    "deny of acl closes if a consumer's group is in a vault",
    { plugins: [denyBanned], consumers: [{ username: "c", acls: [{ group: "{vault://env/group}" }] }] },
    { closed: ["acl"], left: { acls: 0, consumers: 1 } },
  ],
  [
    "a plugin that is closed because of another entity stays closed if it has a value in a vault too",
    {
      plugins: [{ name: "acl", config: { deny: ["{vault://hcv/group}"] } }],
      consumers: [{ username: "c", acls: [{ group: "{vault://hcv/group}" }] }],
    },
    { closed: ["acl"], left: { acls: 0, plugins: 1 } },
  ],
  [
    "deny of acl stays if the consumer is left out too, because its credentials are",
    { plugins: [denyBanned], consumers: [{ username: 5, acls: [{ group: "banned" }] }] },
    { closed: [], left: { acls: 0, consumers: 0, plugins: 1 } },
  ],
  [
    "plugins of a consumer group that is left out are closed in their remaining scope",
    {
      plugins: [
        { name: "rate-limiting", config: { minute: 100 }, route: "open" },
        { name: "rate-limiting", config: { minute: 1 }, route: "open", consumer_group: "free" },
        { name: "request-termination", config: { status_code: 403 }, consumer_group: "free" },
      ],
      consumer_groups: [{ name: "free", of_the_future: 1 }],
      consumers: [{ username: "c", groups: [{ name: "free" }] }],
    },
    { closed: ["unavailable-rate-limiting of route", "unavailable-request-termination"], left: { plugins: 3 } },
  ],
  [
    "overrides of a consumer group are plugins of the group; those of a paid plugin close the group only",
    {
      consumer_groups: [
        { name: "gold", consumer_group_plugins: [{ name: "rate-limiting", config: { minute: 9 } }] },
        { name: "free" },
      ],
      consumer_group_plugins: [
        { name: "rate-limiting-advanced", consumer_group: "free", config: { limit: [1], window_size: [60] } },
      ],
    },
    {
      closed: ["rate-limiting-advanced of consumer_group"],
      left: { plugins: 2 },
      outcomes: ["closed consumer_group_plugins.0.name"],
    },
  ],
  [
    "overrides of a consumer group without a plugin close the group",
    { consumer_groups: [{ name: "free" }], consumer_group_plugins: [{ consumer_group: "free", plugin: "x" }] },
    { closed: ["unavailable of consumer_group"] },
  ],
  [
    "overrides that are no list close all requests",
    { consumer_group_plugins: { a: 1 } },
    { closed: ["consumer-group-plugins"] },
  ],
  [
    "plugins of a consumer that is left out are closed if openid-connect could identify it",
    {
      plugins: [
        { name: "openid-connect", config: { issuer: "https://i.example", auth_methods: ["bearer"] }, route: "open" },
        { name: "request-termination", config: { status_code: 403 }, consumer: "c" },
      ],
      consumers: [{ username: "c", of_the_future: 1 }],
    },
    { closed: ["unavailable-request-termination"], left: { consumers: 0 } },
  ],
  [
    "plugins of a consumer that is left out are left out if nothing identifies it without its credentials",
    { plugins: [{ ...keyAuth }, { name: "request-termination", consumer: "c" }], consumers: [{ username: "c", x: 1 }] },
    { closed: [], left: { consumers: 0, plugins: 1 } },
  ],
  [
    "plugins that lose their scope are closed for all protocols, so that one closes the requests of both",
    {
      consumer_groups: [
        { name: "g1", of_the_future: 1, plugins: [{ name: "request-termination", protocols: ["https"] }] },
        { name: "g2", of_the_future: 1, plugins: [{ name: "request-termination", protocols: ["http"] }] },
      ],
    },
    { closed: ["unavailable-request-termination"], left: { plugins: 1 }, protocols: [undefined] },
  ],
  [
    "mtls-auth with default_consumer closes if a consumer is left out, whose certificates it would admit as the default",
    { ca_certificates: caCertificates, plugins: [guestByDefault], consumers: [{ username: "guest" }, mallory] },
    {
      closed: ["mtls-auth"],
      left: { consumers: 1 },
      outcomes: ["left out consumers.1.of_the_future", "closed plugins.0.config"],
    },
  ],
  [
    "mtls-auth with anonymous closes if a credential for a subject name is left out",
    {
      ca_certificates: caCertificates,
      plugins: [mtlsAuth({ anonymous: "guest" })],
      consumers: [
        { username: "guest" },
        { username: "mallory", mtls_auth_credentials: [{ subject_name: "m", of_the_future: 1 }] },
      ],
    },
    { closed: ["mtls-auth"], left: { consumers: 2, mtls_auth_credentials: 0 } },
  ],
  [
    "mtls-auth that admits only known consumers stays if a consumer is left out",
    { ca_certificates: caCertificates, plugins: [mtlsAuth({})], consumers: [mallory] },
    { closed: [], left: { consumers: 0, plugins: 1 } },
  ],
  [
    "plugins of a consumer that is left out are closed if mtls-auth could admit its certificate",
    {
      ca_certificates: caCertificates,
      plugins: [
        { ...guestByDefault, route: "open" },
        { name: "request-termination", consumer: "mallory" },
      ],
      consumers: [{ username: "guest" }, mallory],
    },
    { closed: ["mtls-auth of route", "unavailable-request-termination"] },
  ],
  [
    "deny of acl closes if the consumer is left out and openid-connect could admit its tokens",
    { plugins: [openidConnect, { ...denyBanned, service: "s" }], consumers: [banned] },
    { closed: ["acl of service"], left: { acls: 0, consumers: 0, plugins: 2 } },
  ],
  [
    "deny of acl closes if the consumer is left out and a plugin could admit it as anonymous",
    {
      plugins: [{ ...keyAuth, config: { anonymous: "guest" } }, denyBanned],
      consumers: [{ username: "guest" }, { ...banned, keyauth_credentials: [{ key: "k" }] }],
    },
    { closed: ["acl"], left: { consumers: 1, plugins: 2 } },
  ],
  [
    "requests are closed if the consumer that acl denies is left out and mtls-auth could admit it as another one",
    {
      ca_certificates: caCertificates,
      plugins: [guestByDefault, denyBanned],
      consumers: [{ username: "guest" }, banned],
    },
    { closed: ["acl", "mtls-auth"], left: { consumers: 1 } },
  ],
  [
    "plugins of a group close if its consumer is left out and a plugin could admit it as anonymous",
    {
      plugins: [{ ...keyAuth, config: { anonymous: "guest" } }],
      consumer_groups: [{ name: "free", plugins: [{ name: "request-termination" }] }],
      consumers: [{ username: "guest" }, { ...mallory, groups: [{ name: "free" }] }],
    },
    { closed: ["unavailable-request-termination"], left: { consumer_groups: 1, consumers: 1 } },
  ],
  [
    "a plugin whose name is not one of Sluice's form is closed under another name",
    { plugins: [{ name: "My_Plugin" }, { name: "" }, { config: {} }] },
    { closed: ["unavailable-my-plugin", "unavailable"] },
  ],
  [
    "a protecting plugin with faulty protocols is closed for all protocols",
    { plugins: [{ ...keyAuth, protocols: ["http", "quic"] }] },
    { closed: ["key-auth"] },
  ],
  [
    "a plugin that protects only streams is left out, because it has no effect on HTTP",
    { plugins: [{ name: "ip-restriction", config: { allow: ["192.0.2.1"] }, protocols: ["tcp", "tls"] }] },
    { closed: [], outcomes: ["left out plugins.0.protocols"] },
  ],
  [
    "a protecting plugin with a faulty `enabled` is closed",
    { plugins: [{ ...keyAuth, enabled: "false" }] },
    { closed: ["key-auth"] },
  ],
  [
    "a protecting plugin of a consumer that does not exist is closed for all consumers",
    { plugins: [{ name: "rate-limiting", config: { minute: 1 }, consumer: "ghost" }] },
    { closed: ["unavailable-rate-limiting"] },
  ],
  [
    "a plugin with an order of its own, which may run before the ones that protect, is closed",
    { plugins: [{ ...keyAuth, ordering: { before: { access: ["rate-limiting"] } } }] },
    { closed: ["unavailable-key-auth"] },
  ],
];

for (const [what, more, { closed, route, left = {}, outcomes, protocols }] of table) {
  test(what, () => {
    const base = { _format_version: "3.0", services: [{ name: "s", url: "https://s.example" }], routes: [open] };
    const { document, unserved } = servablePart({ ...base, ...more });
    assert.deepEqual(checkDocument(document).violations ?? [], []);
    const lists = document as unknown as Readonly<Record<string, readonly Members[] | undefined>>;
    const closedPlugins = (lists.plugins ?? []).filter(({ _sluice }) => Object(_sluice).unavailable !== undefined);
    const scopes = closedPlugins.map((plugin) => {
      const scope = ["service", "route", "consumer", "consumer_group"].filter((name) => Object(plugin[name]).id);
      return [plugin.name, ...scope].join(" of ");
    });
    assert.deepEqual(scopes.toSorted(), closed.toSorted());
    if (protocols !== undefined)
      assert.deepEqual(
        closedPlugins.map((plugin) => plugin.protocols),
        protocols,
      );
    const kept = lists.routes?.find(({ name }) => name === "r" || name === undefined) ?? null;
    if (route === null) assert.equal(kept, null);
    else if (route !== undefined)
      assert.deepEqual(Object.fromEntries(Object.keys(route).map((name) => [name, kept?.[name]])), route);
    for (const [collection, count] of Object.entries(left))
      assert.equal((lists[collection] ?? []).length, count, collection);
    const told = unserved.map(
      ({ outcome, violation: { path }, dependents, closedRoutes }) =>
        `${outcome} ${path.filter((step) => step !== "@entity").join(".")}${dependents ? ` +${dependents}` : ""}` +
        (closedRoutes.length > 0 ? `, closed ${closedRoutes}` : ""),
    );
    if (outcomes !== undefined) assert.deepEqual(told.toSorted(), outcomes.toSorted());
  });
}
