/** OpenID Connect as docs/how-to/verify-tokens.md configures it, with a real provider and through the real proxy. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseAllDocuments } from "yaml";
import { repositoryRoot } from "../../tools/check/source-files.ts";
import { startProcess } from "../../tools/process/index.ts";
import { APP, Browser, openidClient, startOpenidProvider } from "../plugins/openid-provider.ts";
import { startProxyWith } from "../plugins/proxy.ts";

const page = readFileSync(join(repositoryRoot, "docs/how-to/verify-tokens.md"), "utf8");

interface PageResource {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: {
    readonly plugin: string;
    readonly config: object;
    readonly configFrom?: readonly { readonly path: string; readonly secretRef: SecretKey }[];
  };
  readonly stringData?: Readonly<Record<string, string>>;
}

interface SecretKey {
  readonly name: string;
  readonly key: string;
}

/** The page's text with the provider, its scopes and its client instead of the page's. */
const withProvider = (text: string, issuer: string): string =>
  text
    .replaceAll("https://login.example/realms/shop/protocol/openid-connect/token", `${issuer}/token`)
    .replaceAll("https://login.example/realms/shop", issuer)
    .replaceAll("https://www.shop.example/login/done", `${APP}/callback`)
    .replaceAll("the-secret-from-the-provider", openidClient.secret)
    // The provider issues a JSON Web Token only for a resource.
    .replaceAll("client_secret=…", "client_secret=partner-secret -d resource=https://orders.example")
    .replaceAll("orders:read", "read");

/** The plugin of the page's custom resource of this name, with the values of its Secret. */
function pluginOf(name: string, issuer: string): { readonly name: string; readonly config: object } {
  const blocks = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, block = ""]) => withProvider(block, issuer));
  const resources = blocks.flatMap((block) => parseAllDocuments(block).map((one) => one.toJS() as PageResource));
  const find = (kind: string, named: string): PageResource =>
    resources.find((one) => one.kind === kind && one.metadata.name === named) ?? assert.fail(`no ${kind} ${named}`);
  const { plugin, config, configFrom = [] } = find("Plugin", name).spec ?? assert.fail();
  const secrets = configFrom.map(({ path, secretRef }) => [
    path,
    find("Secret", secretRef.name).stringData?.[secretRef.key],
  ]);
  return { name: plugin, config: { ...config, ...Object.fromEntries(secrets) } };
}

test("a token of the provider is admitted and a request without a token refused, as verify-tokens.md shows", async (context) => {
  const { issuer } = await startOpenidProvider(context);
  const gateway = await startProxyWith(context, pluginOf("orders-tokens", issuer));
  const [, block = ""] = /```console\n(\$ token=[\s\S]*?)```/.exec(page) ?? [];
  const lines = block.trimEnd().split("\n");
  const isOutput = (line: string) => /^\d+$/.test(line);
  const commands = lines.filter((line) => !isOutput(line)).map((line) => line.replace(/^\$ /, ""));
  const script = withProvider(commands.join("\n"), issuer).replaceAll("https://api.example", gateway.url);
  const shell = await startProcess("sh", ["-ec", script], { name: "page" });
  assert.equal((await shell.ended()).code, 0, shell.tail());
  assert.equal(shell.output().trimEnd(), lines.filter(isOutput).join("\n"));
});

test("a login leads to the application, whose upstream gets the user's address, and a logout ends the session, as verify-tokens.md configures them", async (context) => {
  const { issuer } = await startOpenidProvider(context);
  const gateway = await startProxyWith(context, pluginOf("web-login", issuer));
  const browser = new Browser(gateway.url);
  const response = await browser.visit(`${APP}/cart`);
  assert.equal(response?.status, 200);
  const { headers } = (await response.json()) as { readonly headers: Readonly<Record<string, string>> };
  assert.equal(headers["x-user"], "alice@example.com");
  await browser.visit(`${APP}/logout`, { method: "POST", stopAt: `${issuer}/session/end` });
  assert.deepEqual(
    [browser.visited.at(-1)?.startsWith(`${issuer}/session/end`), browser.cookie("session")],
    [true, undefined],
  );
});
