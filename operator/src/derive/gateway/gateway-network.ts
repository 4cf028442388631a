/** How clients reach Gateways: the ports that nodes open for them, and their addresses. */
import { isDeepStrictEqual } from "node:util";
import type { GatewayAddressStatus, Resource } from "@sluice/crds";
import { createEmitter, type Output } from "../../emitter.ts";
import type { OperatorSettings } from "../../settings.ts";
import { gatewayAddresses } from "../../status/gateway-addresses.ts";
import type { WatchStage } from "../../watch/watch-stage.ts";

export interface GatewayNetwork {
  /** The port that nodes open for a port of a Gateway's listeners; undefined: none is allotted yet. */
  nodePortOf(gateway: Resource, port: number): number | undefined;
  /** The addresses by which clients reach a Gateway; empty: there are none yet. */
  addressesOf(gateway: Resource): readonly GatewayAddressStatus[];
  /** Emits the Gateways (`namespace/name`) whose ports or addresses may have changed. */
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

  return { changes, nodePortOf: (_, port) => port, addressesOf: () => addresses };
}
