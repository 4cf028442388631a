/** Runs a block of commands of docs/how-to/install-with-helm.md as written. */
import { test } from "node:test";
import type { ChartScene } from "./chart-scene.ts";
import { answersWhenPasted } from "./pages.ts";

export function pastedBlocks(scene: () => ChartScene): void {
  test('the commands in the section "A trial with everything" of install-with-helm.md list users when they are pasted together', async () => {
    const { cluster } = scene();
    // The release is already installed, with images that are on the Kubernetes node, so the commands call a `helm`
    // that does nothing.
    const setUp = "helm() { :; }";
    await answersWhenPasted(cluster, { page: "install-with-helm.md", section: "A trial with everything", setUp });
  });
}
