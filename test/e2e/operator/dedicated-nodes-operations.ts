/** All operations of an operator on the nodes that it creates for a Gateway. */
import { waitFor } from "../../../tools/process/index.ts";
import type { OperationContext } from "./all-operations.ts";

/**
 * Makes the operator create the nodes of a Gateway, change each of their objects, leave their number to an autoscaler
 * and take it back, and delete everything.
 */
export async function runAllDedicatedNodesOperations(place: OperationContext): Promise<void> {
  const { namespace, gatewayClass, kubectl } = place;
  const metadata = { name: "own", namespace };
  const parametersRef = { group: "sluice.dev", kind: "GatewayParameters", name: "own" };
  const gateway = {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "Gateway",
    metadata,
    spec: {
      gatewayClassName: gatewayClass,
      infrastructure: { parametersRef },
      listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
    },
  };
  const apply = (members: object) => {
    const spec = { nodes: "Dedicated", ...members };
    const parameters = { apiVersion: "sluice.dev/v1alpha1", kind: "GatewayParameters", metadata, spec };
    const items = [parameters, gateway];
    return kubectl(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  };
  const found = (kinds: string, path: string) =>
    kubectl([
      "-n",
      namespace,
      "get",
      kinds,
      "-l",
      "gateway.networking.k8s.io/gateway-name=own",
      "-o",
      `jsonpath={.items[*]${path}}`,
    ]);
  const within = { timeout: 60_000, interval: 200 };
  await apply({ autoscaling: { maxReplicas: 1, minReplicas: 1 } });
  await waitFor(() => found("horizontalpodautoscalers", ".metadata.name"), { what: "the autoscaler", ...within });
  await apply({ deployment: { replicas: 1 }, disruptionBudget: { maxUnavailable: "50%" } });
  const changed = async () =>
    (await found("poddisruptionbudgets", ".spec.maxUnavailable")) === "50%" &&
    (await found("horizontalpodautoscalers", ".metadata.name")) === "";
  await waitFor(changed, { what: "the disruption budget to be changed, and the autoscaler removed", ...within });
  await kubectl(["-n", namespace, "delete", "gateway/own", "gatewayparameters/own"]);
  const kinds = "deployments,serviceaccounts,services,poddisruptionbudgets";
  await waitFor(async () => (await found(kinds, ".metadata.name")) === "", {
    what: "the nodes of the Gateway to be removed",
    ...within,
  });
}
