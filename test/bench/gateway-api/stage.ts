/**
 * The environment of the cases: that of the operator's bench, with Gateways and HTTPRoutes, and an upstream for them.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { type MeasuredTarget, type UntilOptions, untilServed } from "../operator/proxy-requests.ts";
import { type BenchNode, createOperatorStage, type OperatorStage } from "../operator/stage.ts";
import { type GatewaySize, populateGateways, servicesOf } from "./population.ts";

export interface GatewayStage extends OperatorStage {
  readonly size: GatewaySize;
  /** Describes the resources that exist before measurements begin. */
  readonly population: string;
}

/** An address that an EndpointSlice may have. */
function ownAddress(): string {
  const found = Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .find(({ family, internal }) => family === "IPv4" && !internal);
  if (!found) throw new Error("the bench needs a network interface with an IPv4 address that is no loopback address");
  return found.address;
}

export async function createGatewayStage(size: GatewaySize): Promise<GatewayStage> {
  const address = ownAddress();
  const server = createServer((_, response) => response.end("ok")).listen(0, address);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const { gateways, routes } = size;
  const count = gateways === 1 ? "1 Gateway" : `${gateways} Gateways`;
  try {
    const stage = await createOperatorStage({
      populate: (client) => populateGateways(client, size, { address, port }),
      crds: [await obtainTool("gateway-api-crds")],
      // Both nodes open the ports of all Gateways.
      addresses: ["127.0.0.2", "127.0.0.3"],
      env: { SLUICE_PUBLISH_ADDRESSES: "192.0.2.1" },
    });
    return {
      ...stage,
      size,
      population: `${count}, each with ${routes} HTTPRoutes and a port of its own, which both nodes open; ${servicesOf(size)} core Services`,
      async close() {
        await stage.close();
        server.close();
      },
    };
  } catch (error) {
    server.close();
    throw error;
  }
}

/** The time by `performance.now` at which all nodes have answered a request with 200. */
export async function untilAllServe(
  nodes: readonly BenchNode[],
  target: Omit<MeasuredTarget, "address">,
  options?: UntilOptions,
): Promise<number> {
  return Math.max(...(await Promise.all(nodes.map(({ address }) => untilServed({ address, ...target }, options)))));
}
