/** Many HTTPRoutes attach to a Gateway at once, because the Gateway is created after them. */
import { MANAGER, writeAll } from "../operator/population.ts";
import { atMost, type BenchReport } from "../report.ts";
import { gatewayAt, hostOf, httpRoute, portOf, routeName, servicesOf } from "./population.ts";
import { type GatewayStage, untilAllServe } from "./stage.ts";

const GATEWAY = "late";

export async function burst(stage: GatewayStage, { routes }: { readonly routes: number }): Promise<BenchReport> {
  const { nodes, operator } = await stage.running();
  const port = portOf(stage.size.gateways);
  function* all() {
    for (let at = 0; at < routes; at++) yield httpRoute({ gateway: GATEWAY, at, services: servicesOf(stage.size) });
  }
  await writeAll(stage.client, all(), routes);
  await operator.untilSettled();
  const writes = () => operator.metric("sluice_operator_status_writes_total");
  const [cpuBefore, before] = [operator.cpu(), await writes()];
  await stage.client.apply("Gateway", gatewayAt(GATEWAY, port), { manager: MANAGER });
  const since = performance.now();
  const served = Array.from({ length: 10 }, (_, index) => {
    const at = Math.floor(((index + 1) * routes) / 10) - 1;
    return untilAllServe(nodes, { port, host: hostOf(at), path: `/${routeName(GATEWAY, at)}` });
  });
  const took = (Math.max(...(await Promise.all(served))) - since) / 1000;
  const cpu = operator.cpu() - cpuBefore;
  await operator.untilSettled();
  return {
    title: `${routes} HTTPRoutes attach at once`,
    method: `${stage.population}. ${routes} HTTPRoutes name a Gateway that does not exist; then the Gateway is created. The time is measured from the API server's response until both nodes answer 200 for ten of these HTTPRoutes, the last of all included.`,
    rows: [
      {
        "until all are served, s": Number(took.toFixed(2)),
        "operator CPU until then, s": Number(cpu.toFixed(2)),
        "statuses written": (await writes()) - before,
      },
    ],
    verdicts: [atMost("until all are served", took, { bound: 3, unit: " s" })],
  };
}
