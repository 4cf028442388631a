/** GraphiQL in a real Chromium: the page sends requests to the user API only. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Browser } from "playwright-core";

const firstField = (document: string): string => /\{ (\w+)/.exec(document)?.[1] ?? "";

/** @param address Host and port of a user API in the mode `development`, to which the tests add users. */
export function graphiqlSuite(browser: Browser, address: string): void {
  /** Opens GraphiQL with a GraphQL document, runs the document, calls `then`, and waits until the response has `text`. */
  async function answered(
    document: string,
    text: string,
    then: () => Promise<unknown> = async () => {},
  ): Promise<void> {
    const page = await browser.newPage();
    const asked = new Set<string>();
    const complaints: string[] = [];
    page.on("request", (request) => void asked.add(new URL(request.url()).host));
    // Violations of the page's Content-Security-Policy are console errors too.
    page.on("console", (message) => void (message.type() === "error" && complaints.push(message.text())));
    page.on("pageerror", (error) => void complaints.push(error.message));
    const introspected = page.waitForResponse(
      (response) => response.request().postData()?.includes("__schema") === true,
    );
    await page.goto(`http://${address}/graphiql?query=${encodeURIComponent(document)}`);
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
    assert.deepEqual([...asked], [address]);
    await page.close();
  }

  async function createUser(name: string, email: string): Promise<void> {
    const query = `mutation { createUser(name: "${name}", email: "${email}") { name } }`;
    const headers = { "content-type": "application/json" };
    await fetch(`http://${address}/graphql`, { method: "POST", headers, body: JSON.stringify({ query }) });
  }

  test("GraphiQL loads only from the user API, within its content security policy, and runs a query", async () => {
    await createUser("Ann", "ann@example.org");
    await answered("{ users { email } }", "ann@example.org");
  });

  test("GraphiQL follows a subscription", () =>
    answered("subscription { userCreated { name } }", "Zoe", () => createUser("Zoe", "zoe@example.org")));
}
