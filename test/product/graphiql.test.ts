/** GraphiQL in a real Chromium: the page sends requests to the user API only. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { freePort, startProcess, temporaryFolder } from "../../tools/process/index.ts";
import { launchBrowser } from "../../tools/programs/browser.ts";
import { seedUsers } from "../../tools/start/users.ts";

const root = join(import.meta.dirname, "../..");
const work = temporaryFolder("graphiql");
const users = join(work.path, "users");
await seedUsers(users);
const port = await freePort();
const api = await startProcess(process.execPath, [join(root, "user-api/src/main.ts")], {
  name: "user API",
  ready: /GraphiQL at /,
  env: {
    SLUICE_USER_API_LISTEN: `127.0.0.1:${port}`,
    SLUICE_USER_API_MODE: "development",
    SLUICE_USER_API_DATA: users,
  },
});
after(() => api.stop());
const browser = await launchBrowser();
after(() => browser.close());
after(() => work.remove());

const firstField = (document: string): string => /\{ (\w+)/.exec(document)?.[1] ?? "";

/** Opens GraphiQL with a GraphQL document, runs the document, calls `then`, and waits until the response has `text`. */
async function answered(document: string, text: string, then: () => Promise<unknown> = async () => {}): Promise<void> {
  const page = await browser.newPage();
  const asked = new Set<string>();
  const complaints: string[] = [];
  page.on("request", (request) => void asked.add(new URL(request.url()).host));
  // Violations of the page's Content-Security-Policy are console errors too.
  page.on("console", (message) => void (message.type() === "error" && complaints.push(message.text())));
  page.on("pageerror", (error) => void complaints.push(error.message));
  const introspected = page.waitForResponse((response) => response.request().postData()?.includes("__schema") === true);
  await page.goto(`http://127.0.0.1:${port}/graphiql?query=${encodeURIComponent(document)}`);
  await introspected;
  // GraphiQL sends the document by POST, or by GET if it is a subscription.
  const begun = page.waitForResponse((response) =>
    `${response.url()} ${response.request().postData()}`.includes(firstField(document)),
  );
  await page.getByRole("button", { name: /execute query/i }).click();
  await begun;
  await then();
  await page.locator(".graphiql-response").getByText(text).waitFor();
  assert.deepEqual(complaints, []);
  assert.deepEqual([...asked], [`127.0.0.1:${port}`]);
  await page.close();
}

test("GraphiQL loads only from the user API, within its content security policy, and runs a query", () =>
  answered("{ users { email } }", "ann@example.org"));

test("GraphiQL follows a subscription", async () => {
  const query = 'mutation { createUser(name: "Zoe", email: "zoe@example.org") { name } }';
  const headers = { "content-type": "application/json" };
  const create = () =>
    fetch(`http://127.0.0.1:${port}/graphql`, { method: "POST", headers, body: JSON.stringify({ query }) });
  await answered("subscription { userCreated { name } }", "Zoe", create);
});
