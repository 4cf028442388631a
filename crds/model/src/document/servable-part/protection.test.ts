/**
 * Leaving out an entity or a member must not let through a request that Kong refuses. Some rows show cases in which
 * leaving something out is harmless.
 */
import { openRoute, type ProtectionTable, testProtection } from "./testing-protection.ts";

const keyAuth = { name: "key-auth" };
/** A route whose regular expression Sluice refuses, because RE2 has no look-around. */
const lookAround = { name: "r", paths: ["~/admin/(?!health)"], service: "s" };
const denyBanned = { name: "acl", config: { deny: ["banned"] } };
/** A group's name, longer than Sluice allows. */
const tooLong = "g".repeat(1025);

/** The protocols of a plugin that refuses everything in its scope. */
const everyProtocol = ["grpc", "grpcs", "http", "https", "tcp", "tls", "tls_passthrough"];
const closedRoute = ["unavailable-route of route"];

const table: ProtectionTable = [
  [
    "a route with a plugin and an unsupported regular expression answers 503 below the expression's literal prefix",
    { routes: [openRoute, { ...lookAround, methods: ["GET"], hosts: ["a.example"], plugins: [keyAuth] }] },
    {
      closed: closedRoute,
      route: { paths: ["~/admin/"], methods: ["GET"], hosts: ["a.example"] },
      outcomes: ["closed routes.1.paths.0"],
    },
  ],
  [
    "a route that Sluice cannot serve answers 503 if a plugin protects its service",
    { services: [{ name: "s", url: "https://s.example", plugins: [keyAuth] }], routes: [openRoute, lookAround] },
    { closed: closedRoute, route: { paths: ["~/admin/"] } },
  ],
  [
    "a route that Sluice cannot serve answers 503 if a global plugin protects it",
    { routes: [openRoute, lookAround], plugins: [keyAuth] },
    { closed: closedRoute, route: { paths: ["~/admin/"] } },
  ],
  [
    "a route that Sluice cannot serve answers 503 if it has an unknown plugin",
    { routes: [openRoute, { ...lookAround, plugins: [{ name: "of-our-own" }] }] },
    { closed: ["of-our-own of route", ...closedRoute] },
  ],
  [
    "a route that Sluice cannot serve is left out if no enabled plugin protects it",
    {
      routes: [openRoute, lookAround],
      plugins: [
        { name: "cors", route: "r" },
        { ...keyAuth, route: "r", enabled: false },
        { ...keyAuth, route: "open" },
      ],
    },
    { closed: [], route: null, outcomes: ["left out routes.1.paths.0 +2"] },
  ],
  [
    "a route that Sluice cannot serve answers 503 if it has no service, as in Kong",
    { routes: [openRoute, { name: "r", paths: ["~/admin/(?!health)"] }] },
    { closed: closedRoute, route: { paths: ["~/admin/"] }, outcomes: ["closed routes.1.paths.0"] },
  ],
  [
    "a route that Sluice cannot serve answers 503 if it is for https only: Kong refuses http with 426",
    { routes: [openRoute, { ...lookAround, protocols: ["https"] }] },
    { closed: closedRoute, route: { paths: ["~/admin/"], protocols: ["https"] } },
  ],
  [
    "a route that Sluice cannot serve answers 503 if it is for grpcs only: Kong refuses grpc with 426",
    { routes: [openRoute, { ...lookAround, protocols: ["grpcs"] }] },
    { closed: closedRoute, route: { protocols: ["grpcs"] } },
  ],
  [
    "a route for https only loses its service and answers 503 if Sluice cannot serve the service",
    {
      services: [
        { name: "s", url: "https://s.example" },
        { name: "t", url: "https://t.example", of_the_future: 1 },
      ],
      routes: [openRoute, { name: "r", paths: ["/t"], protocols: ["https"], service: "t" }],
    },
    { closed: closedRoute, route: { service: null, protocols: ["https"] } },
  ],
  [
    "a route of a disabled service is left out, because Kong does not serve it",
    { services: [{ name: "s", url: "https://s.example", enabled: false }], routes: [lookAround], plugins: [keyAuth] },
    { closed: [], route: null },
  ],
  [
    "a route that answers 503 keeps its valid paths, and a refused expression without a literal prefix becomes one for every path",
    { routes: [{ ...lookAround, paths: ["/plain", "~/(?=a)"] }], plugins: [keyAuth] },
    { closed: closedRoute, route: { paths: ["/plain", "~/"] } },
  ],
  [
    "a route that answers 503 accepts any value of a header whose regular expression RE2 refuses",
    { routes: [openRoute, { name: "r", headers: { "x-role": ["~*(?=admin)"] } }], plugins: [keyAuth] },
    { closed: closedRoute, route: { headers: { "x-role": ["~*.*"] } } },
  ],
  [
    "a route that answers 503 loses members that Sluice lacks, and its invalid regex_priority becomes the highest",
    {
      routes: [openRoute, { ...lookAround, paths: ["/admin"], regex_priority: 0.5, of_the_future: 1 }],
      plugins: [keyAuth],
    },
    { closed: closedRoute, route: { paths: ["/admin"], regex_priority: 2 ** 31 - 1 } },
  ],
  [
    "a route with Kong's paid protocols ws and wss answers 503 to http and https",
    { routes: [openRoute, { name: "r", paths: ["/ws"], protocols: ["ws", "wss"] }], plugins: [keyAuth] },
    { closed: closedRoute, route: { protocols: ["http", "https"] } },
  ],
  [
    "all requests are answered 503 if the requests of a protected route cannot be recognized",
    { routes: [openRoute, { name: "r", expression: 'http.path ^= "/admin"', plugins: [keyAuth] }] },
    { closed: ["unavailable-route"], route: null, outcomes: ["all closed routes.1.expression", "all closed routes.1"] },
  ],
  [
    "all requests are answered 503 if a protected route has an invalid host: without the host, the route would lose to others",
    { routes: [openRoute, { name: "r", hosts: ["a.*.example"], plugins: [keyAuth] }] },
    { closed: ["unavailable-route"], route: null, outcomes: ["all closed routes.1.hosts.0"] },
  ],
  [
    "if a service cannot be served, its protected routes lose it and answer 503, and its other routes are left out",
    {
      services: [
        { name: "s", url: "https://s.example" },
        { name: "t", url: "udp://t:1" },
      ],
      routes: [
        openRoute,
        { name: "r", paths: ["/t"], service: "t", plugins: [keyAuth] },
        { paths: ["/u"], service: "t" },
      ],
    },
    {
      closed: closedRoute,
      route: { service: null, paths: ["/t"] },
      left: { routes: 2 },
      outcomes: ["left out services.1.protocol +1, closed r"],
    },
  ],
  [
    "a protected route answers 503 if its service does not exist",
    { routes: [openRoute, { name: "r", paths: ["/t"], service: "ghost", plugins: [keyAuth] }] },
    { closed: closedRoute, route: { paths: ["/t"] }, outcomes: ["closed routes.1.service"] },
  ],
  [
    "a protected route answers 503 if the client certificate of its service is left out",
    {
      services: [{ name: "s", url: "https://s.example", client_certificate: "0d3a1f0e-7c62-4d39-8b42-62a2a0a90001" }],
      certificates: [{ id: "0d3a1f0e-7c62-4d39-8b42-62a2a0a90001", cert: "{vault://env/c}", key: "{vault://env/k}" }],
      routes: [{ ...openRoute, name: "r" }],
      plugins: [keyAuth],
    },
    { closed: closedRoute, route: { service: null }, outcomes: ["left out certificates.0.cert +1, closed r"] },
  ],
  [
    "a protected route answers 503 if its upstream is left out: the upstream's name would be looked up in DNS",
    {
      services: [{ name: "s", url: "https://pool" }],
      upstreams: [{ name: "pool", targets: [{ target: "a.example:1" }], id: "not an id" }],
      routes: [{ ...openRoute, name: "r" }],
      plugins: [keyAuth],
    },
    { closed: closedRoute, route: { service: null }, left: { upstreams: 0, targets: 0, services: 0 } },
  ],
  [
    "an upstream is served without the members whose values Sluice refuses",
    {
      services: [{ name: "s", url: "https://pool" }],
      upstreams: [{ name: "pool", algorithm: "sticky-sessions", targets: [{ target: "a.example:1" }] }],
      routes: [openRoute],
    },
    { closed: [], left: { upstreams: 1, targets: 1, routes: 1 }, outcomes: ["left out upstreams.0.algorithm"] },
  ],
  [
    "tags that Sluice refuses are left out, and their entities are served",
    {
      routes: [openRoute],
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
    "acl answers 503 if it denies a group and a consumer's membership in that group is left out",
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
    "acl answers 503 if it denies a group and a consumer's group is a reference to a vault",
    { plugins: [denyBanned], consumers: [{ username: "c", acls: [{ group: "{vault://env/group}" }] }] },
    { closed: ["acl"], left: { acls: 0, consumers: 1 } },
  ],
  [
    "a plugin that answers 503 because of another entity still does if its config also refers to a vault",
    {
      plugins: [{ name: "acl", config: { deny: ["{vault://hcv/group}"] } }],
      consumers: [{ username: "c", acls: [{ group: "{vault://hcv/group}" }] }],
    },
    { closed: ["acl"], left: { acls: 0, plugins: 1 } },
  ],
  [
    "acl is served unchanged if a consumer is left out together with its membership in a denied group",
    { plugins: [denyBanned], consumers: [{ username: 5, acls: [{ group: "banned" }] }] },
    { closed: [], left: { acls: 0, consumers: 0, plugins: 1 } },
  ],
  [
    "plugins of a consumer group that is left out answer 503 in their remaining scope",
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
    "overrides of a consumer group become its plugins; an override of a paid plugin answers 503 to its group only",
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
    "requests of a consumer group are answered 503 if one of its overrides names no plugin",
    { consumer_groups: [{ name: "free" }], consumer_group_plugins: [{ consumer_group: "free", plugin: "x" }] },
    { closed: ["unavailable of consumer_group"] },
  ],
  [
    "all requests are answered 503 if the overrides of consumer groups are not a list",
    { consumer_group_plugins: { a: 1 } },
    { closed: ["consumer-group-plugins"] },
  ],
  [
    "plugins of a consumer that is left out answer 503 if openid-connect could still identify the consumer",
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
    "plugins of a consumer that is left out are left out too if no plugin can identify the consumer",
    { plugins: [{ ...keyAuth }, { name: "request-termination", consumer: "c" }], consumers: [{ username: "c", x: 1 }] },
    { closed: [], left: { consumers: 0, plugins: 1 } },
  ],
  [
    "plugins that lose their scope answer 503 for all protocols, because only one plugin of the same name and scope is kept",
    {
      consumer_groups: [
        { name: "g1", of_the_future: 1, plugins: [{ name: "request-termination", protocols: ["https"] }] },
        { name: "g2", of_the_future: 1, plugins: [{ name: "request-termination", protocols: ["http"] }] },
      ],
    },
    { closed: ["unavailable-request-termination"], left: { plugins: 1 }, protocols: [everyProtocol] },
  ],
  [
    "a plugin whose name is invalid in Sluice answers 503 under a valid name",
    { plugins: [{ name: "My_Plugin" }, { name: "" }, { config: {} }] },
    { closed: ["unavailable-my-plugin", "unavailable"] },
  ],
  [
    "a protecting plugin with invalid protocols answers 503 for all protocols",
    { plugins: [{ ...keyAuth, protocols: ["http", "quic"] }] },
    { closed: ["key-auth"] },
  ],
  [
    "a plugin that protects only udp is left out, because Sluice does not serve it",
    { plugins: [{ name: "ip-restriction", config: { allow: ["192.0.2.1"] }, protocols: ["udp"] }] },
    { closed: [], outcomes: ["left out plugins.0.protocols"] },
  ],
  [
    "an invalid plugin that protects connections closes them",
    { plugins: [{ name: "ip-restriction", config: { allow: ["x"] }, protocols: ["tcp", "tls"] }] },
    { closed: ["ip-restriction"], protocols: [["tcp", "tls"]] },
  ],
  [
    "a plugin that acts on HTTP only and names connections closes them",
    { plugins: [{ ...keyAuth, protocols: ["tcp"] }] },
    { closed: ["key-auth"], protocols: [everyProtocol] },
  ],
  [
    "a protecting plugin with an invalid value of `enabled` answers 503",
    { plugins: [{ ...keyAuth, enabled: "false" }] },
    { closed: ["key-auth"] },
  ],
  [
    "a protecting plugin of a consumer that does not exist answers 503 to all requests",
    { plugins: [{ name: "rate-limiting", config: { minute: 1 }, consumer: "ghost" }] },
    { closed: ["unavailable-rate-limiting"] },
  ],
  [
    "a protecting plugin with `ordering` answers 503, because Sluice cannot change the order of plugins",
    { plugins: [{ ...keyAuth, ordering: { before: { access: ["rate-limiting"] } } }] },
    { closed: ["unavailable-key-auth"] },
  ],
];

testProtection(table);
