/** `npm run cluster` from a user's view: the real script, its output and its shutdown. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, test } from "node:test";
import { isFree, startProcess, temporaryFolder } from "../../../tools/process/index.ts";
import { freeAddresses, settingsOf } from "../../product/free-addresses.ts";
import { readTour, typeInShell } from "../../product/printed-tour.ts";

const root = new URL("../../..", import.meta.url).pathname;

test("`npm run cluster` prints a kubeconfig and three commands that work as described, and stops on Ctrl-C", async () => {
  const work = temporaryFolder("cluster-command");
  after(() => work.remove());
  const chosen = await freeAddresses();
  const command = await startProcess("npm", ["run", "cluster"], {
    name: "npm run cluster",
    cwd: root,
    env: { ...settingsOf(chosen), SLUICE_WORK: work.path },
    ready: /Ctrl-C stops everything\./,
    timeout: 90_000,
  });
  after(() => command.exit() ?? command.kill9());
  const printed = command.output();
  const { preparation, steps } = readTour(printed);
  assert.equal(steps.length, 3, printed);
  for (const { title, command: typed, output } of steps)
    assert.equal(await typeInShell(preparation + typed), output, title);

  const kubeconfig = /KUBECONFIG=(\S+)/.exec(preparation)?.[1] ?? "";
  assert.ok(existsSync(kubeconfig), preparation);
  process.kill(-command.pid, "SIGINT");
  await command.ended();
  assert.match(command.output(), /Stopping: requests under way are finished first\.\nStopped\.\n/);
  assert.equal(existsSync(kubeconfig), false);
  for (const address of Object.values(chosen))
    assert.ok(await isFree(Number(address.split(":")[1])), `${address} still listens`);
});
