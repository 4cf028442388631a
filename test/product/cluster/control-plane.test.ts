/** The suites that need only an API server with the CRDs, one after the other on the same. */
import { after } from "node:test";
import { startControlPlane } from "../../../tools/cluster/control-plane.ts";
import { waitFor } from "../../../tools/process/index.ts";
import { accessSuite } from "./access.ts";
import { crdSuite } from "./crds.ts";
import { tenantPolicySuite } from "./tenant-policies.ts";
import { webhookSuite } from "./webhook.ts";

const plane = await startControlPlane();
after(() => plane.stop());
await plane.kubectl(["apply", "--server-side", "-f", new URL("../../../crds", import.meta.url).pathname]);
await plane.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"]);
await waitFor(() => plane.kubectl(["get", "sluice", "--all-namespaces"]), { what: "the new kinds to be served" });

crdSuite(plane);
accessSuite(plane);
tenantPolicySuite(plane);
// From then on, invalid resources are refused.
webhookSuite(plane);
