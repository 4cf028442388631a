/** `sluice logs`, with a node and an admin listener in this process. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { waitFor } from "../../../../../tools/process/index.ts";
import { runCommandLine } from "../../testing-command.ts";
import { type ClientRig, startClientRig } from "../testing-client.ts";

const configuration = `_format_version: "3.0"
services:
- name: stock
  host: stock.example
  routes:
  - name: stock
    paths: [/stock]
upstreams:
- name: stock.example
`;

let rig: ClientRig;
const run: ClientRig["run"] = (words, env) => rig.run(words, env);

before(async () => {
  rig = await startClientRig(configuration);
});
after(() => rig.close());

test("logs lists refused requests with the reasons, the newest last", async () => {
  for (const path of ["/one", "/two", "/stock"]) await (await fetch(rig.proxyUrl + path)).arrayBuffer();
  const [, printed] = await run(["logs", "--status", "404", "--limit", "2"]);
  assert.match(
    printed,
    /^TIME .* REASON\n.* 404 +GET +127\.0\.0\.1:\d+ +\/one +- +- +- +[\d.]+ +- +refused +no Route matched.*\n.* \/two .*\n$/,
  );
  const [, lines] = await run(["logs", "--route", "stock", "--status", "5", "--json"]);
  assert.equal(JSON.parse(lines.trim()).route.name, "stock");
  assert.match(
    (await run(["logs", "--min-latency", "3600000"]))[1],
    /^TIME .*\n\nOnly requests that were refused, failed or slow /,
  );
});

test("logs --follow prints each request as it ends", async () => {
  let hasEnded = false;
  const followed = run(["logs", "--follow", "--limit", "1", "--status", "404"]).finally(() => {
    hasEnded = true;
  });
  await waitFor(
    async () => {
      await (await fetch(`${rig.proxyUrl}/followed`)).arrayBuffer();
      return hasEnded;
    },
    { what: "a request to be printed" },
  );
  assert.match(
    (await followed)[1],
    /^TIME .*\n\S+Z +127\.0\.0\.1:\d+ +404 +GET +127\.0\.0\.1:\d+ +\/followed +- +- +- +[\d.]+ +-\n$/,
  );
});

test("logs warns of missed requests and silent nodes, and escapes control characters", async (context) => {
  const request = { time: "2026-01-01T00:00:00.000Z", node: "10.0.0.1:1", status: 404, path: "/\u001b[31m" };
  const page = {
    watch: "w",
    data: [{ ...request, latencies: { request: 1 } }],
    missed: 3,
    unanswered: [{ node: "10.0.0.2:1", reason: "timeout" }],
  };
  const admin = createServer((_, response) => response.end(JSON.stringify(page)));
  await new Promise<void>((resolve) => admin.listen(0, "127.0.0.1", resolve));
  context.after(() => admin.close());
  const { port } = admin.address() as AddressInfo;
  const { printed, warnings } = await runCommandLine(["logs", "--follow", "--limit", "2"], {
    SLUICE_ADMIN_URL: `http://127.0.0.1:${port}`,
  });
  assert.match(printed, / 404 +- +- +\/\\x1b\[31m +- +- +- +1 +-\n/);
  const missed = "3 requests are missing, because there were too many: select fewer of them";
  assert.deepEqual(warnings, [
    "the node 10.0.0.2:1 did not answer, so its requests are missing: timeout",
    missed,
    missed,
  ]);
});
