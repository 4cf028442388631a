/** Runs the block of commands of the chart's page as written. */
import { test } from "node:test";
import type { Scene } from "./chart-scene.ts";
import { answersWhenPasted } from "./pages.ts";

export function pastedBlocks(scene: () => Scene): void {
  test("the commands of the page's section, A trial with everything, work when they are pasted at once", async () => {
    const { cluster } = scene();
    // The release is installed, with images that are on the node.
    const setUp = "helm() { :; }";
    await answersWhenPasted(cluster, { page: "install-with-helm.md", section: "A trial with everything", setUp });
  });
}
