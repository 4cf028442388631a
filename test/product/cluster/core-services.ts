/** Core Services of a cluster without pods, whose endpoints are servers of the test. */
import { networkInterfaces } from "node:os";
import type { KeyPair } from "../../../tools/programs/certificates.ts";
import { type NamedUpstream, startNamedUpstream } from "../client.ts";
import type { Suite } from "./suite.ts";

/** The API server refuses loopback addresses in EndpointSlices, so the machine's own address is used. */
export function addressOfMachine(): string {
  const found = Object.values(networkInterfaces())
    .flat()
    .find((address) => address?.family === "IPv4" && !address.internal)?.address;
  if (found === undefined)
    throw new Error("this suite needs an IPv4 address of this machine that is not loopback; it has none");
  return found;
}

export function coreServices(suite: Pick<Suite, "apply">) {
  const machine = addressOfMachine();
  const upstreams: NamedUpstream[] = [];

  /** A core Service with the port 80, named http, and one endpoint at this port of the machine. */
  async function publish(name: string, port: number, namespace = "default"): Promise<void> {
    const labels = { "kubernetes.io/service-name": name };
    await suite.apply(
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name, namespace },
        spec: { ports: [{ name: "http", port: 80 }] },
      },
      {
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: { name, namespace, labels },
        addressType: "IPv4",
        ports: [{ name: "http", protocol: "TCP", port }],
        endpoints: [{ addresses: [machine], conditions: { ready: true } }],
      },
    );
  }

  return {
    publish,
    /**
     * A core Service whose endpoint responds with the name of the Service.
     *
     * @param pair The certificate of a TLS server; undefined: the endpoint speaks HTTP without TLS.
     */
    async serve(name: string, pair?: KeyPair): Promise<void> {
      const upstream = await startNamedUpstream(name, machine, pair);
      upstreams.push(upstream);
      await publish(name, upstream.port);
    },
    close: () => Promise.all(upstreams.map((upstream) => upstream.close())),
  };
}
