/** `npm run cluster -- --pods` from a user's view: the real script, its output and its shutdown. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { startProcess, temporaryFolder } from "../../../tools/process/index.ts";
import { readTour, typeInShell } from "../../product/printed-tour.ts";
import { leftBehind } from "./left-behind.ts";

const root = join(import.meta.dirname, "../../..");

test("`npm run cluster -- --pods` prints commands for use outside and inside the cluster, has Sluice's images, and leaves nothing after Ctrl-C", async () => {
  const work = temporaryFolder("pods-command");
  after(() => work.remove());
  const command = await startProcess("npm", ["run", "cluster", "--", "--pods"], {
    name: "npm run cluster -- --pods",
    cwd: root,
    env: { SLUICE_WORK: work.path },
    ready: /Ctrl-C ends the cluster; nothing is kept\./,
    // The time includes the build of Sluice's images.
    timeout: 240_000,
  });
  after(() => command.exit() ?? command.kill9());
  const { preparation } = readTour(command.output());
  const [, folder = ""] = /^Logs: (\S+)\/logs$/m.exec(command.output()) ?? [];
  const typed = (line: string) => typeInShell(`${preparation}${line}`);
  assert.match(await typed("kubectl get nodes --no-headers"), /^node +Ready/);
  assert.equal(await typed("cd docs && inside pwd"), `${join(root, "docs")}\n`);
  assert.match(await typed("inside getent hosts kube-dns.kube-system.svc.cluster.local"), /^10\.96\.0\.10 /);
  const images = [...command.output().matchAll(/^ {2}(docker\.io\/sluice\/\S+)$/gm)].map(([, name]) => name);
  assert.ok(images.length >= 4, command.output());
  const present = await typed("inside ctr --namespace=k8s.io images list --quiet");
  for (const image of images) assert.ok(present.split("\n").includes(String(image)), `${image} is not in\n${present}`);

  process.kill(-command.pid, "SIGINT");
  await command.ended();
  assert.match(command.output(), /Stopping the cluster without draining its pods\.\nStopped\.\n/);
  assert.deepEqual(leftBehind(folder), []);
});
