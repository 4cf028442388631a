import { readdir } from "node:fs/promises";
import { createClusterClient } from "@sluice/crds";
import { startControlPlane } from "../../../tools/cluster/control-plane.ts";
import { adminOver, withoutNodes } from "../../conformance/admin/over.ts";
import { describeAdmin } from "../../conformance/admin/suite.ts";
import { quietLog } from "../../conformance/resource-client/log.ts";
import { createOpener } from "../../conformance/store/resource-store.ts";

const crds = new URL("../../../crds/", import.meta.url);

describeAdmin("a cluster", async () => {
  const cluster = await startControlPlane();
  const files = (await readdir(crds)).filter((name) => name.endsWith(".yaml"));
  await cluster.kubectl(["apply", ...files.flatMap((name) => ["-f", new URL(name, crds).pathname])]);
  await cluster.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"]);
  const connect = () => createClusterClient({ kubeconfig: cluster.kubeconfig, log: quietLog });
  const opener = createOpener(connect, { homeNamespace: "default", class: "sluice" });
  return adminOver({
    ...withoutNodes(opener.open()),
    async close() {
      await opener.close();
      await cluster.stop();
    },
  });
});
