/** Leaving out an entity or a member must not let through a request that Kong refuses: one row for each such case. */
import { open, type ProtectionTable, testProtection } from "./testing-protection.ts";

const keyAuth = { name: "key-auth" };
/** RE2 has no look-around. */
const lookAround = { name: "r", paths: ["~/admin/(?!health)"], service: "s" };
const denyBanned = { name: "acl", config: { deny: ["banned"] } };
/** Longer than the limit of groups. */
const tooLong = "g".repeat(1025);

const closedRoute = ["unavailable-route of route"];

const table: ProtectionTable = [
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
    "a protecting plugin with a faulty `enabled` answers with 503",
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

testProtection(table);
