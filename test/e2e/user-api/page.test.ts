/** Runs the commands of docs/how-to/pass-the-consumer-identity.md as written. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { builtProgram } from "../../../tools/build/programs.ts";
import { repositoryRoot } from "../../../tools/check/source-files.ts";
import { startProcess, temporaryFolder } from "../../../tools/process/index.ts";
import { refuseTakenPorts } from "../../../tools/start/ports.ts";
import { standardAddresses } from "../../../tools/start/processes.ts";
import { goldenOutcome, readResources } from "../../golden/outcome.ts";

const page = readFileSync(join(repositoryRoot, "docs/how-to/pass-the-consumer-identity.md"), "utf8");
const consoles = [...page.matchAll(/^```console\n(.*?)^```$/gms)].map(([, lines = ""]) => lines);
const shown = consoles.filter((block) => block.startsWith("$ ")).join("");

test("the commands of pass-the-consumer-identity.md print what the page shows", async (context) => {
  const folder = temporaryFolder("page");
  context.after(() => folder.remove());
  await refuseTakenPorts(standardAddresses);
  const [gateway, userApi] = [await builtProgram("gateway"), await builtProgram("user-api")];
  const script = [
    "exec 2>&1",
    // The shell runs a background function in a separate process, which `exec` replaces with the command.
    `sluice() { exec '${gateway}' "$@"; }`,
    `sluice-user-api() { exec '${userApi}' "$@"; }`,
    "trap 'kill $(jobs -p); wait' EXIT",
    shown
      .split("\n")
      .map((line) => (line.startsWith("$ ") ? line.slice(2) : line))
      .filter((line) => !printed.includes(line))
      .join("\n"),
  ];
  writeFileSync(join(folder.path, "page.sh"), script.join("\n"));
  const shell = await startProcess("bash", ["page.sh"], { name: "page", cwd: folder.path });
  await shell.ended();
  assert.deepEqual(shell.output().trim().split("\n"), printed);
});

/** The output of the page's GraphQL requests, one line each. The page's other commands print nothing. */
const printed = [...shown.matchAll(/^\$ curl .*localhost:(?:4000|8000)\/\S*graphql .*\n(.*)$/gm)].map(
  ([, line = ""]) => line,
);

test("the operator accepts the resources of pass-the-consumer-identity.md, and reads the upstream header from the Secret", () => {
  const [service = ""] = [...page.matchAll(/^```yaml\n(apiVersion.*?)^```$/gms)].map(([, text]) => text);
  const metadata = { namespace: "default", creationTimestamp: "2026-01-01T00:00:01Z" };
  const labels = { "sluice.dev/credential": "upstream-header" };
  const resources = [
    { ...parse(service), metadata: { name: "users", ...metadata } },
    { kind: "Secret", metadata: { name: "users-gateway", labels, ...metadata }, stringData: { secret: "the-secret" } },
    { kind: "Service", metadata: { name: "users", ...metadata }, spec: { ports: [{ port: 4000 }] } },
  ].map((resource) => JSON.stringify({ apiVersion: "v1", ...resource }));
  const { document, conditions } = goldenOutcome(readResources(resources.join("\n---\n")));
  assert.partialDeepStrictEqual(document.services, [
    { upstream_headers: [{ name: "X-Gateway-Secret", value: "the-secret" }] },
  ]);
  assert.doesNotMatch(JSON.stringify(conditions), /=False/);
  assert.match(JSON.stringify(conditions), /Accepted=True/);
});
