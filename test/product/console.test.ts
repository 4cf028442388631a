/** The web console from a user's view, in a real Chromium over a real `sluice start`. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { freePort } from "../../tools/process/index.ts";
import { CONSOLE_TOKEN, headingOf, KEY_OF_ANN, shopDocument, startConsole, violationsOf } from "./console-pages.ts";

const greet = {
  "schema.ts": `
    import { array, boolean, choice, definePluginFacts, integer, mapping, nullable, record, set, text } from "@sluice/plugin-sdk";
    export default definePluginFacts({
      name: "greet", version: "1.0.0", priority: 1, protects: false,
      schema: record({
        word: text({ description: "A word.", maxLength: 10 }),
        times: integer({ description: "How often.", default: 1, minimum: 1, maximum: 5 }),
        loud: boolean({ description: "Whether to shout.", default: false }),
        tone: choice(["kind", "stern"], { description: "A tone.", default: "kind" }),
        names: nullable(array(text({ description: "A name." }), { description: "Names." })),
        days: nullable(set(choice(["mon", "tue"], { description: "A day." }), { description: "Days." })),
        headers: nullable(mapping(text({ description: "A value." }), { description: "Headers." })),
        inner: record({ depth: nullable(integer({ description: "A depth." })) }, { description: "A record." }),
      }, { description: "Greets." }),
      credentials: {
        key: text({ description: "A pass phrase.", minLength: 4, maxLength: 64 }),
        schema: record({
          title: text({ description: "A title.", default: "dear", maxLength: 10 }),
          pin: nullable(text({ description: "A secret.", secret: true })),
        }, { description: "A guest." }),
      },
    });`,
  "index.ts": `
    import { definePlugin } from "@sluice/plugin-sdk";
    import facts from "./schema.ts";
    export default definePlugin({ ...facts, phases: ({ word }) => ({ access: () => ({ status: 200, body: word }) }) });`,
};
const streamPort = await freePort();
const rig = await startConsole(shopDocument, {
  plugin: greet,
  env: { SLUICE_STREAM_LISTEN: `127.0.0.1:${streamPort}` },
});
after(() => rig.close());

test("the sign-in refuses a wrong token, keeps the right one for the tab, and never puts it into an address", async () => {
  const page = await rig.open({ token: null });
  await headingOf(page, "Sign in to Sluice");
  assert.deepEqual(await violationsOf(page), []);
  await page.getByLabel("Token of the admin API").fill("wrong");
  await page.keyboard.press("Enter");
  await page.getByText("does not accept this token").waitFor();
  await page.getByLabel("Token of the admin API").fill(CONSOLE_TOKEN);
  await page.keyboard.press("Enter");
  await headingOf(page, "Overview");
  await page.reload();
  await headingOf(page, "Overview");
  await page.getByRole("button", { name: "Sign out" }).click();
  await headingOf(page, "Sign in to Sluice");
  assert.equal(await page.evaluate("sessionStorage.length + document.cookie.length"), 0);
  await page.close();
});

test("explain shows the plugin that answers, the reason why each candidate does not match, and errors at their fields", async () => {
  const page = await rig.open({ at: "#/explain" });
  const explain = async (url: string) => {
    await page.getByLabel("URL").fill(url);
    await page.getByRole("button", { name: "Explain", exact: true }).click();
  };
  await explain("http://shop.example/shop/cart");
  await page.getByRole("heading", { name: "The gateway answers 401" }).waitFor();
  await page.getByText("The plugin key-auth answered: No API key found in request").first().waitFor();
  await page.getByLabel("Method").selectOption("POST");
  await explain("http://shop.example/shop/cart");
  await page.getByRole("heading", { name: "The gateway answers 404" }).waitFor();
  await page.getByText("the method POST is not GET").first().waitFor();
  await page.getByLabel("Method").selectOption("GET");
  await page.getByText("Headers, client address, body").click();
  await page.getByLabel("Headers, one per line").fill(`apikey: ${KEY_OF_ANN}`);
  await explain("http://shop.example/shop/cart?page=2");
  await page.getByRole("heading", { name: "Goes to the service shop" }).waitFor();
  await page.getByText("rate-limiting, per hour: 0 of 100 used").waitFor();
  await page.getByText("counted by").waitFor();
  assert.deepEqual(await violationsOf(page), []);
  assert.match(page.url(), /#\/explain\?url=http%3A%2F%2Fshop\.example%2Fshop%2Fcart%3Fpage%3D2&method=GET&client=$/);
  await page.reload();
  await page.getByRole("heading", { name: "The gateway answers 401" }).waitFor();
  await explain("nonsense");
  await page.getByText("expected a URL such as http://api.example/users").waitFor();
  await page.getByLabel("Method").selectOption("POST");
  await page.getByLabel("Headers, one per line").fill("");
  await explain(`tcp://127.0.0.1:${streamPort}`);
  await page.getByRole("heading", { name: "The gateway closes the connection" }).waitFor();
  await page.getByText("no Route matched with those values").first().waitFor();
  await page.getByText(`tcp to 127.0.0.1 ${streamPort}`).waitFor();
  assert.deepEqual(await violationsOf(page), []);
  await page.close();
});

test("a change is planned before it is saved, by keyboard alone, and the nodes serve it", async () => {
  const page = await rig.open();
  await headingOf(page, "Overview");
  const focused = () => page.evaluate<string>("document.activeElement.textContent || document.activeElement.id");
  /** Presses Tab until the focus is on the element with this text or id. */
  const tabTo = async (wanted: string) => {
    for (let pressed = 0; pressed < 60; pressed++) {
      await page.keyboard.press("Tab");
      if ((await focused()) === wanted) return;
    }
    assert.fail(`Tab does not reach ${wanted}`);
  };
  await page.keyboard.press("Tab");
  assert.equal((await focused()).trim(), "Skip to the content");
  await tabTo("Entities");
  await page.keyboard.press("Enter");
  await headingOf(page, "Services");
  assert.equal(await page.evaluate("document.activeElement.id"), "main", "the focus is at the top of the new page");
  await page.getByRole("link", { name: "shop", exact: true }).waitFor();
  await tabTo("shop");
  await page.keyboard.press("Enter");
  await headingOf(page, "service shop");
  await page.getByLabel("path", { exact: true }).waitFor();
  await tabTo("f-path");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("/v2");
  await tabTo("Plan the change");
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "What would change" });
  await dialog.getByText("/v1").first().waitFor();
  await dialog.getByText("/v2").first().waitFor();
  await dialog.getByText("path sent").first().waitFor();
  assert.deepEqual(await violationsOf(page), []);
  assert.equal(Object(await rig.ask("GET", "/services/shop")).path, "/v1", "a plan stores nothing");
  await page.keyboard.press("Escape");
  // The focus returns to the button.
  await page.getByRole("button", { name: "Plan the change" }).and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Enter");
  await tabTo("Save");
  await page.keyboard.press("Enter");
  await page.getByText("Saved. Every node serves it.").waitFor();
  assert.equal(Object(await rig.ask("GET", "/services/shop")).path, "/v2");
  await page.close();
});

test("a plugin that is not Sluice's own gets its form from its schema, with the errors at their fields", async () => {
  const page = await rig.open({ at: "#/entities/plugins/new" });
  await page.getByLabel("Plugin", { exact: true }).selectOption("greet");
  const config = page.getByRole("group", { name: "config" });
  await config.getByLabel("word").fill("a word that is too long");
  await config.getByLabel("times").fill("many");
  await page.getByRole("button", { name: "Plan the change" }).click();
  await page.getByRole("alert").waitFor();
  for (const name of ["word", "times"])
    assert.equal(await config.getByLabel(name).getAttribute("aria-invalid"), "true", name);
  await config.getByLabel("word").fill("hello");
  await config.getByLabel("times").fill("3");
  await config.getByLabel("loud").check();
  await config.getByLabel("tone").selectOption("stern");
  await config.getByLabel("names").fill("ann\nbob");
  await config.getByLabel("mon").check();
  await config.getByRole("button", { name: "Add to headers" }).click();
  await config.getByLabel("Name", { exact: true }).fill("x-greeting");
  await config.getByLabel("Value", { exact: true }).fill("1");
  await config.getByLabel("depth").fill("2");
  await page.getByLabel("service", { exact: true }).fill("shop");
  await page.getByRole("button", { name: "Plan the change" }).click();
  await page.getByRole("dialog").getByText("creates").waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  await headingOf(page, /greet/);
  const { data } = (await rig.ask("GET", "/services/shop/plugins")) as {
    data: readonly { name: string; config: object }[];
  };
  assert.deepEqual(data.find(({ name }) => name === "greet")?.config, {
    ...{ word: "hello", times: 3, loud: true, tone: "stern", names: ["ann", "bob"], days: ["mon"] },
    ...{ headers: { "x-greeting": "1" }, inner: { depth: 2 } },
  });
  await page.close();
});

test("an API key is made and shown once, and no stored secret is shown", async () => {
  const page = await rig.open({ at: "#/entities/consumers" });
  await page.getByRole("link", { name: "ann", exact: true }).click();
  await headingOf(page, "consumer ann");
  await page.getByRole("region", { name: "API keys" }).getByRole("link", { name: "New API key" }).click();
  await page.getByRole("button", { name: "Plan the change" }).click();
  await page.getByRole("button", { name: "Save" }).click();
  const shown = page.getByRole("dialog").getByLabel("key", { exact: true });
  const made = await shown.inputValue();
  assert.match(made, /^\w{20,}$/);
  await page.getByRole("button", { name: "Done" }).click();
  await headingOf(page, "consumer ann");
  const keys = page.getByRole("region", { name: "API keys" }).getByRole("link", { name: "…" });
  await keys.nth(1).waitFor();
  const textOf = () =>
    page.evaluate<string>(
      "document.body.innerHTML + [...document.querySelectorAll('input')].map((one) => one.value).join()",
    );
  for (const index of [0, 1]) {
    await keys.nth(index).click();
    await page.locator("#f-key").waitFor();
    assert.equal(await page.locator("#f-key").inputValue(), "(set, not shown)");
    for (const secret of [KEY_OF_ANN, made]) assert.ok(!(await textOf()).includes(secret));
    await page.getByRole("link", { name: "Back to the consumer" }).click();
    await keys.nth(1).waitFor();
  }
  await page.goto(`${rig.admin}/console/#/entities/plugins`);
  await page.getByRole("link", { name: "rate-limiting" }).click();
  await page.getByRole("group", { name: "redis" }).waitFor();
  assert.ok(!(await textOf()).includes("redis-secret"));
  await page.close();
});

test("a credential of a plugin gets its form from the plugin's schema, and its secrets are not shown again", async () => {
  const page = await rig.open({ at: "#/entities/consumers/ann" });
  const credentials = page.getByRole("region", { name: "Credentials of your own plugins" });
  await credentials.getByRole("link", { name: "New plugin credential" }).click();
  await page.getByLabel("Plugin", { exact: true }).selectOption("greet");
  await page.getByLabel("key", { exact: false }).fill("abc");
  await page.getByLabel("title").fill("madam");
  await page.getByLabel("pin").fill("pin-which-is-secret");
  await page.getByRole("button", { name: "Plan the change" }).click();
  await page.getByText("length must be at least 4").waitFor();
  await page.getByLabel("key", { exact: false }).fill("open sesame");
  await page.getByRole("button", { name: "Plan the change" }).click();
  await page.getByRole("button", { name: "Save" }).click();
  await credentials.getByRole("link", { name: "…" }).click();
  await page.locator("#f-key").waitFor();
  await page.getByText(/sluice\.json:\d+:\d+/).waitFor();
  for (const id of ["#f-key", "#f-config-pin"]) assert.equal(await page.locator(id).inputValue(), "(set, not shown)");
  assert.equal(await page.getByLabel("title").inputValue(), "madam");
  assert.deepEqual(await violationsOf(page), []);
  await page.close();
});

test("the API keys page makes a key for a consumer, shows it once, and deletes it after a plan", async () => {
  const page = await rig.open({ at: "#/entities/key-auths" });
  const row = page.getByRole("row").filter({ hasText: "mobile" });
  await page.getByRole("link", { name: "New API key" }).click();
  assert.deepEqual(await violationsOf(page), []);
  await page.getByLabel("consumer").fill("ann");
  await page.getByLabel("tags").fill("mobile");
  await page.getByLabel("ttl").fill("864000");
  await page.getByRole("button", { name: "Plan the change" }).click();
  await page.getByRole("button", { name: "Save" }).click();
  const made = await page.getByRole("dialog").getByLabel("key", { exact: true }).inputValue();
  const answer = await fetch(`${rig.proxy}/first`, { headers: { apikey: made } });
  assert.notEqual(answer.status, 401, "the nodes accept the key");
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByText("Created. Every node serves it.").waitFor();
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "API keys" }).click();
  await row.getByText("1 min ago").waitFor();
  const inTenDays = new Date(Date.now() + 864_000_000).toISOString().slice(0, 10);
  await row.getByRole("cell", { name: inTenDays }).waitFor();
  await row.getByRole("link", { name: "ann" }).waitFor();
  for (const secret of [KEY_OF_ANN, made]) assert.ok(!(await page.content()).includes(secret));
  await row.getByRole("link", { name: "…" }).click();
  await page.getByRole("button", { name: "Delete the API key…" }).click();
  await page.getByRole("dialog").getByText("deletes").waitFor();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await headingOf(page, "API keys");
  await page.getByText("2026", { exact: true }).last().waitFor();
  assert.equal(await row.count(), 0);
  await page.close();
});

test("the history compares revisions and restores one after a plan, by keyboard, unless something was written after the plan", async () => {
  await rig.ask("PATCH", "/services/stock", { path: "/one" });
  await rig.ask("PATCH", "/services/stock", { path: "/two" });
  const { data } = (await rig.ask("GET", "/revisions?size=2")) as { data: readonly { readonly number: number }[] };
  const [second, first] = data.map(({ number }) => number);
  const page = await rig.open({ at: "#/history" });
  await page.getByLabel(`From revision ${second}`).press("Space");
  await page.getByLabel(`To revision ${first}`).press("Space");
  await page.getByRole("button", { name: "Compare" }).press("Enter");
  await headingOf(page, `from revision ${second} to ${first}`);
  await page.getByRole("row", { name: "path /two /one" }).waitFor();
  await page.getByRole("link", { name: "History" }).last().click();
  await page.getByRole("link", { name: String(first), exact: true }).click();
  await page.getByText("by admin token").waitFor();
  const dialog = page.getByRole("dialog", { name: `Restore the state of revision ${first}?` });
  const plan = async () => {
    await page.getByRole("button", { name: "Restore this state…" }).press("Enter");
    await dialog.getByRole("row", { name: /^path/ }).waitFor();
  };
  await plan();
  await rig.ask("PATCH", "/services/stock", { path: "/three" });
  await dialog.getByRole("button", { name: "Restore" }).press("Enter");
  await dialog.getByText("does not match If-Match").waitFor();
  await page.keyboard.press("Escape");
  await plan();
  await dialog.getByRole("row", { name: "path /three /one" }).waitFor();
  assert.deepEqual(await violationsOf(page), []);
  await dialog.getByRole("button", { name: "Restore" }).press("Enter");
  await page.getByText(`The state of revision ${first} is restored. Every node serves it.`).waitFor();
  assert.equal(Object(await rig.ask("GET", "/services/stock")).path, "/one");
  await page.close();
});

test("the changes of all revisions are listed with author, members and entity, and can be filtered", async () => {
  await rig.ask("POST", "/services", { name: "passing", host: "passing.example" });
  await rig.ask("DELETE", "/services/passing");
  const page = await rig.open({ at: "#/history/changes" });
  const rows = page.getByRole("row").filter({ hasText: "passing" });
  await rows.first().waitFor();
  await page.getByLabel("Kind of entity").selectOption("services");
  await page.getByLabel("Filter by name, id or member").fill("passing");
  assert.equal(await page.getByRole("row").count(), 3, "the head, the creation and the deletion");
  assert.equal(await rows.getByRole("link", { name: "service passing" }).count(), 0, "a deleted entity has no page");
  await page.getByLabel("Kind of change").selectOption("created");
  await rows.getByRole("cell", { name: "host", exact: true }).waitFor();
  assert.equal(await page.getByRole("row").count(), 2);
  await page.getByLabel("Filter by name, id or member").fill("path");
  await page.getByLabel("Kind of change").selectOption("changed");
  await page.getByLabel("Author").selectOption("file");
  await page.getByText("No change matches the filters.").waitFor();
  await page.getByLabel("Author").selectOption("admin token");
  await page.getByRole("link", { name: "service stock" }).first().click();
  await headingOf(page, "service stock");
  await page.close();
});

test("without revisions of the store, the History page shows the reason", async () => {
  const page = await rig.open();
  const message = "this store keeps no revisions";
  await page.route("**/revisions?*", (route) => route.fulfill({ status: 501, json: { message } }));
  await page.goto(`${rig.admin}/console/#/history`);
  await page.getByText(message).waitFor();
  await page.close();
});

test("the GraphQL page leads to the form of the plugin; once the plugin is saved, the page lists operations, which can be sorted and filtered", async () => {
  const page = await rig.open({ at: "#/graphql" });
  // Counts are reported after ten seconds; the test does not wait for them.
  await page.route("**/traffic?by=operations*", async (route) => {
    const operation = (name: string, requests: number, failed: number) => ({
      id: `shop ${name}`,
      ...{
        name,
        type: "query",
        hash: `${name.length}e8e7bf7bfd`,
        service: { id: "shop", name: "shop" },
        requests,
        failed,
      },
      ...{ client_errors: 0, server_errors: 0, refused: 0, latencies: { p50: 2, p95: 20, p99: 200 } },
    });
    const total = { requests: 9, client_errors: 0, server_errors: 0, refused: 0, latencies: {} };
    await route.fulfill({
      json: { unanswered: [], total, data: [operation("Report", 1, 0.5), operation("Users", 8, 0)] },
    });
  });
  await page.getByRole("link", { name: "Add the plugin" }).click();
  await page.getByLabel("max_operations").waitFor();
  await page.getByLabel("service", { exact: true }).fill("shop");
  await page.getByRole("button", { name: "Plan the change" }).click();
  await page.getByRole("button", { name: "Save" }).click();
  await headingOf(page, /graphql/);
  await page.getByRole("link", { name: "GraphQL", exact: true }).click();
  await page.getByRole("link", { name: "service shop" }).waitFor();
  const names = page.getByRole("table", { name: "Operations" }).getByRole("rowheader");
  await page.getByRole("cell", { name: "200 ms" }).first().waitFor();
  assert.deepEqual(await names.allInnerTexts(), ["Users", "Report"]);
  assert.deepEqual(await violationsOf(page), []);
  await page.getByRole("button", { name: "Failed" }).click();
  await page.getByRole("cell", { name: "50 %" }).waitFor();
  assert.deepEqual(await names.allInnerTexts(), ["Report", "Users"]);
  for (const text of ["user", "5e8e7b"]) {
    await page.getByRole("searchbox", { name: "Filter by name or document" }).fill(text);
    await page.getByRole("cell", { name: "50 %" }).waitFor({ state: "detached" });
    assert.deepEqual(await names.allInnerTexts(), ["Users"]);
    await page.getByRole("cell", { name: "5e8e7bf7bfd" }).waitFor();
  }
  await page.close();
});

test("no page has broken the content security policy, or sent a request to another host", () => {
  assert.deepEqual(rig.complaints, []);
});
