/** Takes the pictures of the console for docs/how-to/use-the-console.md: `npm run docs:pictures`. Look at them afterwards. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { repositoryRoot } from "../../../tools/check/source-files.ts";
import { waitFor } from "../../../tools/process/index.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { headingOf, KEY_OF_ANN, startConsole } from "../../product/console-pages.ts";

const WIDTH = 1180;
const DAY = 86_400_000;
/** Milliseconds of traffic in the charts. */
const CHARTED = 100_000;

/** Reports take long, `/fail` fails, and GraphQL operations whose path has `taken` have an error in their response. */
const upstream = createServer(({ url = "" }, response) => {
  const body = url.includes("taken") ? { errors: [{ message: "the name is taken" }] } : { data: {} };
  const status = url.includes("fail") ? 500 : 200;
  setTimeout(
    () => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(body));
    },
    2 + Math.random() * (url.includes("reports") ? 200 : 8),
  );
});
await new Promise<void>((resolve) => upstream.listen(0, "0.0.0.0", resolve));
const { port } = upstream.address() as AddressInfo;

const authority = await makeAuthority("example authority", { notAfter: new Date(Date.now() + 90 * DAY) });
const notAfter = new Date(Date.now() + 9 * DAY);
const { certificate, key } = await authority.issue({
  ...{ name: "shop.example", sans: ["shop.example"] },
  ...{ usage: "server", notAfter },
});

const rig = await startConsole({
  services: [
    {
      ...{ name: "shop", url: `http://127.0.0.1:${port}/v2`, tags: ["team-a"] },
      routes: [
        {
          ...{ name: "shop-admin", hosts: ["shop.example"], methods: ["GET", "POST"], regex_priority: 10 },
          paths: ["/shop/admin", "~/shop/(?<id>\\d+)/edit$"],
        },
        { name: "shop", paths: ["/shop"], methods: ["GET"] },
      ],
      plugins: [{ name: "key-auth" }, { name: "rate-limiting", config: { minute: 100, hour: 5000 } }],
    },
    {
      name: "legacy",
      url: `http://127.0.0.1:${port}`,
      enabled: false,
      routes: [{ name: "legacy", paths: ["/legacy"] }],
    },
    {
      name: "stock",
      host: "stock.example",
      routes: ["1", "2", "3", "4", "5"].map((number) => ({ name: `stock-${number}`, paths: [`/stock/${number}`] })),
    },
    ...["users", "reports"].map((name) => ({
      ...{ name, url: `http://127.0.0.1:${port}/${name}`, plugins: [{ name: "graphql" }] },
      routes: [{ name, paths: [`/${name}/graphql`] }],
    })),
  ],
  routes: [{ name: "answer", paths: ["/health"] }],
  upstreams: [
    {
      name: "stock.example",
      targets: [
        { target: `127.0.0.2:${port}`, weight: 100 },
        { target: "127.0.0.2:9", weight: 10 },
      ],
      healthchecks: { active: { type: "tcp", healthy: { interval: 1 }, unhealthy: { interval: 1, tcp_failures: 1 } } },
    },
  ],
  certificates: [{ cert: certificate, key, snis: [{ name: "shop.example" }] }],
  consumers: [{ username: "ann", keyauth_credentials: [{ key: KEY_OF_ANN }] }, { username: "partner" }],
  plugins: [
    { name: "request-termination", route: { name: "answer" }, config: { status_code: 200, message: "well" } },
    { name: "prometheus", config: { status_code_metrics: true } },
  ],
});

const withKey = { headers: { apikey: KEY_OF_ANN } };
const operation = (query: string): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ query }),
});

/** What clients send, in random order. */
const requests: readonly (readonly [path: string, init?: RequestInit])[] = [
  ...["/shop/cart", "/shop/7", "/shop/fail"].map((path) => [path, withKey] as const),
  ...["/stock/1", "/stock/2", "/stock/2", "/stock/3", "/health", "/health", "/shop/cart", "/nowhere"].map(
    (path) => [path] as const,
  ),
  ["/users/graphql", operation("query Users { users { name } }")],
  ["/users/graphql", operation("query Users { users { name } }")],
  ["/users/graphql", operation("query UsersWithPosts { users { posts { title } } }")],
  ["/users/graphql/taken", operation("mutation AddUser { addUser { name } }")],
  ["/reports/graphql", operation("query DailyReport { report { total } }")],
];
const clients = setInterval(() => {
  const [path, init] = requests[Math.floor(Math.random() * requests.length)] ?? ["/"];
  void fetch(rig.proxy + path, init).then((response) => response.text());
}, 25);

async function picture(page: Page, name: string, height: number): Promise<void> {
  await page.setViewportSize({ width: WIDTH, height });
  await page.screenshot({ path: join(repositoryRoot, `docs/how-to/images/console-${name}.png`) });
}

await rig.ask("POST", "/consumers/partner/key-auth", { tags: ["2026"], ttl: 864_000 });
await rig.ask("PATCH", "/services/shop", { read_timeout: 20_000 });
await rig.ask("POST", "/services", { name: "search", host: "search.internal" });
await rig.ask("DELETE", "/routes/stock-5");
await rig.ask("PATCH", "/routes/shop", { tags: ["cart"] });

const traffic = await rig.open({ at: "#/traffic", width: WIDTH });
const charted = Date.now() + CHARTED;

const explain = await rig.open({ at: "#/explain?url=http://shop.example/shop/cart", width: WIDTH });
await explain.getByText("Headers, client address, body").click();
await explain.getByLabel("Headers, one per line").fill(`apikey: ${KEY_OF_ANN}`);
const limited = explain.getByRole("heading", { name: "The gateway answers 429" });
await waitFor(
  async () => {
    await explain.getByRole("button", { name: "Explain", exact: true }).click();
    return limited.waitFor({ timeout: 1000 }).then(
      () => true,
      () => false,
    );
  },
  { what: "the limit to be reached", timeout: 120_000 },
);
await explain.setViewportSize({ width: WIDTH, height: 760 });
await explain.evaluate("document.querySelector('.explanation').scrollIntoView()");
await picture(explain, "explain", 760);

for (const [name, at, title, height] of [
  ["overview", "#/", "Overview", 640],
  ["topology", "#/topology", "Topology", 760],
  ["graphql", "#/graphql", "GraphQL", 440],
  ["history", "#/history/changes", "History", 480],
] as const) {
  const page = await rig.open({ at, width: WIDTH });
  await headingOf(page, title);
  await page
    .getByText(/\d\/s|DailyReport|route stock-5|unhealthy/)
    .first()
    .waitFor();
  await page.waitForLoadState("networkidle", { timeout: 5000 }).catch(() => {});
  await picture(page, name, height);
}

await waitFor(() => Date.now() > charted, { what: "the charts", timeout: CHARTED + 10_000 });
await picture(traffic, "traffic", 900);

clearInterval(clients);
await rig.close();
upstream.closeAllConnections();
upstream.close();
