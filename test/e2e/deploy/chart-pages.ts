/** Blocks of commands that are pasted as a whole: what begins to listen in them is asked once it listens. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { namespace, type Scene } from "./chart-scene.ts";
import { blocksOf } from "./pages.ts";

interface Pasted {
  readonly page: string;
  readonly section: string;
  /** Functions of the shell for what the suite has done in another way. */
  readonly instead: (apikey: string) => string;
}

const all: readonly Pasted[] = [
  // The release is there, with images that are on the node.
  { page: "install-with-helm.md", section: "A trial with everything", instead: () => "helm() { :; }" },
  {
    page: "deploy-with-pulumi.md",
    section: "Use it",
    // What stacks have for outputs, the suites of Pulumi see.
    instead: (apikey) => `cd() { :; }; pulumi() { case "$*" in *consumerKey*) echo ${apikey};; esac; }`,
  },
];

export function pastedBlocks(scene: () => Scene): void {
  for (const { page, section, instead } of all)
    test(`the block of ${page}, ${section}, is answered by the user API when it is pasted as a whole`, async () => {
      const { cluster, consumer } = scene();
      const [block = "", ...more] = blocksOf(page, section);
      assert.deepEqual([block.includes("port-forward"), more], [true, []]);
      const { apikey } = await consumer();
      const ending = "answered=$?\nkill $!\nexit $answered";
      const typed = `${instead(apikey)}\n${block.replaceAll("sluice-dev", namespace)}${ending}`;
      const { code, stdout, stderr } = await cluster.run("sh", ["-c", typed]);
      assert.equal(code, 0, stderr);
      assert.match(stdout, /\{"data":\{"users":\[.*\]\}\}/);
    });
}
