/** The README's section with three clients, run as printed: kubectl, curl and decK on one real control plane. */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { repositoryRoot } from "../../../tools/check/source-files.ts";
import { type ClusterProduct, startClusterProduct } from "../../../tools/cluster/product.ts";
import { startProcess, temporaryFolder } from "../../../tools/process/index.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { refuseTakenPorts } from "../../../tools/start/ports.ts";
import { standardAddresses } from "../../../tools/start/processes.ts";
import { readmeStepsOf } from "../readme.ts";

const steps = readmeStepsOf(
  readFileSync(join(repositoryRoot, "README.md"), "utf8"),
  "One configuration, three clients",
);

describe("the README's three clients", () => {
  const work = temporaryFolder("three-clients");
  let product: ClusterProduct;
  let env: Record<string, string>;

  before(async () => {
    await refuseTakenPorts(standardAddresses);
    product = await startClusterProduct({ chosen: standardAddresses, work: join(work.path, "product") });
    const bin = join(work.path, "bin");
    mkdirSync(bin);
    symlinkSync(await obtainTool("deck"), join(bin, "deck"));
    writeFileSync(join(bin, "kubectl"), `#!/bin/sh\nexec '${await obtainTool("kube")}' kubectl "$@"\n`);
    chmodSync(join(bin, "kubectl"), 0o755);
    env = {
      PATH: `${bin}${delimiter}${process.env.PATH}`,
      HOME: work.path,
      KUBECONFIG: product.plane.kubeconfig,
      DECK_KONG_ADDR: `http://${product.chosen.admin}`,
      DECK_ANALYTICS: "off",
    };
  });
  after(async () => {
    await product?.stop();
    work.remove();
  });

  test("the section has four steps", () => assert.equal(steps.length, 4));

  for (const [index, { commands, output }] of steps.entries()) {
    test(`step ${index + 1} prints what the page says`, async () => {
      const run = await startProcess("sh", ["-c", commands], { name: `step ${index + 1}`, cwd: work.path, env });
      const { code } = await run.ended();
      assert.equal(run.output().replaceAll("\r\n", "\n"), output, commands);
      assert.equal(code, 0);
    });
  }
});
