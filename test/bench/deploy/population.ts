/** Routes, each with its own Service, and the wait until the gateway serves them. */
import { createClusterClient, type Resource, type SluiceKind } from "@sluice/crds";
import { waitFor } from "../../../tools/process/index.ts";
import { type DeployStage, pulumiNamespace, sluiceClass } from "./stage.ts";

const AT_ONCE = 16;

const resource = (kind: SluiceKind, name: string, spec: object): Resource => ({
  apiVersion: "sluice.dev/v1alpha1",
  kind,
  metadata: { name, namespace: pulumiNamespace },
  spec: { class: sluiceClass, ...spec },
});

/**
 * Applies each Service and Route by its own request, like many separate tools. Resolves to the seconds until all are
 * written and until all Routes are Programmed.
 */
export async function applyRoutes(
  stage: DeployStage,
  routes: number,
): Promise<{ applied: number; programmed: number }> {
  const log = { info() {}, warn: console.warn, error: console.error };
  const client = createClusterClient({ kubeconfig: await stage.cluster.outsideKubeconfig(), log });
  const began = performance.now();
  const url = `http://sluice-operator.${pulumiNamespace}.svc.cluster.local:8080`;
  function* all(): Generator<Resource> {
    for (let at = 0; at < routes; at++) {
      yield resource("Service", `service-${at}`, { url });
      yield resource("Route", `route-${at}`, { serviceRef: { name: `service-${at}` }, paths: [`/route-${at}`] });
    }
  }
  const made = all();
  let written = 0;
  try {
    const write = async () => {
      for (const one of made) {
        await client.apply(one.kind as SluiceKind, one, { manager: "bench" });
        if (++written % 4000 === 0) console.log(`${written} of ${2 * routes} resources written`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, write));
  } finally {
    await client.close();
  }
  const applied = (performance.now() - began) / 1000;
  await waitFor(async () => (await programmed(stage)) === routes, {
    what: "every Route to be Programmed",
    timeout: 300_000,
    interval: 3000,
  });
  await stage.get("sluice-gateway", `/route-${routes - 1}/healthz`);
  return { applied, programmed: (performance.now() - began) / 1000 };
}

/** The number of Routes of the population that are Programmed. */
async function programmed({ kubectl }: DeployStage): Promise<number> {
  const condition = '{.status.conditions[?(@.type=="Programmed")].status}';
  const text = await kubectl(
    "get",
    "routes.sluice.dev",
    `--output=jsonpath={range .items[*]}{.metadata.name} ${condition}{"\\n"}{end}`,
  );
  return text.split("\n").filter((line) => /^route-\d+ True$/.test(line)).length;
}
