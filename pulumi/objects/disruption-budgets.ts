/** PodDisruptionBudgets, as the chart has them: of each part's pods one at a time may be moved. */
import { metadataOf, type Release, selectorOf } from "./names.ts";
import type { KubernetesObject } from "./object.ts";

export const disruptionBudget = (release: Release, component: string): KubernetesObject => ({
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata: metadataOf(release, component),
  spec: {
    maxUnavailable: 1,
    // A pod that is not ready anyway keeps no machine from being emptied.
    unhealthyPodEvictionPolicy: "AlwaysAllow",
    selector: { matchLabels: selectorOf(release, component) },
  },
});
