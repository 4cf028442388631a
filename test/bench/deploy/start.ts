/** The time from `pulumi up`, on a cluster that has only Sluice's images, to the first successful request. */
import type { BenchReport } from "../report.ts";
import type { DeployStage } from "./stage.ts";

export async function measureReleaseStart({ times }: DeployStage): Promise<BenchReport> {
  return {
    title: "From nothing to the first answered request",
    method:
      "A one-node cluster (`npm run cluster -- --pods`) has the images and nothing else. `pulumi up` runs for the crds stack, then for the dev stack: operator, gateway, admin, user API, Postgres and Redis, one pod each. The time is measured until a GraphQL query is answered through the gateway's Service, with key-auth, rate-limiting (Redis), cors and prometheus. The query is sent when `pulumi up` of dev has ended, which waits until all pods are Ready. etcd, API server, kubelet, Pulumi and the pods share the machine.",
    rows: [
      {
        "up of crds, s": Number(times.crds.toFixed(1)),
        "up of dev, s": Number(times.up.toFixed(1)),
        "from up of dev to the first response, s": Number(times.answered.toFixed(1)),
        "from up of crds to the first response, s": Number((times.crds + times.answered).toFixed(1)),
      },
    ],
    verdicts: [],
  };
}
