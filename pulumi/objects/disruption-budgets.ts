/** PodDisruptionBudgets, equal to the chart's: one pod of each part may be evicted at a time. */
import { metadataOf, type Release, selectorOf } from "./names.ts";
import type { KubernetesObject } from "./object.ts";

export const disruptionBudget = (release: Release, component: string): KubernetesObject => ({
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata: metadataOf(release, component),
  spec: {
    maxUnavailable: 1,
    // A pod that is not ready does not block a drain.
    unhealthyPodEvictionPolicy: "AlwaysAllow",
    selector: { matchLabels: selectorOf(release, component) },
  },
});
