/** How clients reach Gateways: the ports that nodes open for them, and their addresses. */
import { isDeepStrictEqual } from "node:util";
import type { GatewayAddressStatus, GatewayParameters, Resource } from "@sluice/crds";
import { SHARED_FLEET } from "@sluice/model";
import { createEmitter, type Output } from "../../emitter.ts";
import { type OperatorSettings, operatorSettings } from "../../settings.ts";
import type { WatchStage } from "../../watch/watch-stage.ts";
import { gatewayAddresses } from "../gateway-addresses.ts";

export interface GatewayNetwork {
  /** The port that nodes open for a port of a Gateway's listeners; undefined: none is allotted yet. */
  nodePortOf(gateway: Resource, port: number): number | undefined;
  /** The addresses by which clients reach a Gateway; empty: there are none yet. */
  addressesOf(gateway: Resource): readonly GatewayAddressStatus[];
  /** Why no Gateway can have nodes of its own, with what to change; undefined: it can. */
  readonly dedicatedFault: string | undefined;
  /**
   * The fleets whose nodes open the ports of a Gateway.
   *
   * @param parameters Undefined: they are invalid, and no valid ones are known. The result is then the fleets that serve
   * the Gateway already; empty: there are none.
   */
  fleetsOf(gateway: Resource, parameters: GatewayParameters | undefined): readonly string[];
  /** Emits the Gateways (`namespace/name`) whose ports, addresses or fleets may have changed. */
  readonly changes: Output<ReadonlySet<string>>;
}

export interface SharedNetworkOptions {
  readonly watch: Pick<WatchStage, "clusterState" | "changes">;
  readonly settings: Pick<OperatorSettings, "publishService" | "publishAddresses">;
}

/** All Gateways have the addresses of the gateway, and nodes open the ports of the listeners themselves. */
export function createSharedNetwork({ watch, settings }: SharedNetworkOptions): GatewayNetwork {
  const { clusterState } = watch;
  const changes = createEmitter<ReadonlySet<string>>();
  let addresses = addressesNow();
  watch.changes.subscribe(({ resources }) => {
    if (!resources.some(({ kind, key }) => kind === "CoreService" && key === settings.publishService)) return;
    const before = addresses;
    addresses = addressesNow();
    if (!isDeepStrictEqual(before, addresses)) changes.emit(new Set(clusterState.Gateway.keys()));
  });

  function addressesNow(): readonly GatewayAddressStatus[] {
    return (gatewayAddresses(settings, clusterState.CoreService) ?? []).flatMap(({ ip, hostname }) => [
      ...(ip === undefined ? [] : [{ type: "IPAddress" as const, value: ip }]),
      ...(hostname === undefined ? [] : [{ type: "Hostname" as const, value: hostname }]),
    ]);
  }

  return {
    changes,
    dedicatedFault: `the operator creates no Services for Gateways: set ${operatorSettings.nodeService.variable}`,
    fleetsOf: (_, parameters) => (parameters ? [SHARED_FLEET] : []),
    nodePortOf: (_, port) => port,
    addressesOf: () => addresses,
  };
}
