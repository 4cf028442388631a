/**
 * A real etcd and API server, two operators of which one leads, two nodes, and the ACME server Pebble. The nodes have
 * the same ports on different addresses, so that Pebble can ask either of them.
 */
import { join } from "node:path";
import { connect } from "node:tls";
import { repositoryRoot } from "../../../tools/check/source-files.ts";
import { type ControlPlane, startControlPlane } from "../../../tools/cluster/control-plane.ts";
import { writePushCertificates } from "../../../tools/cluster/push-certificates.ts";
import { acmeManifests, clusterUsers, roleManifests } from "../../../tools/cluster/rbac.ts";
import { freePort, temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { type Pebble, startPebble } from "../../../tools/programs/servers/pebble.ts";
import { nodeOf, operatorOf, type RestartableOperator } from "../../e2e/operator/fault-environment.ts";

/** Namespace of the Secrets that only the operator reads. */
export const PRIVATE = "default-operator";
/** A name for which Pebble refuses certificates. */
export const REFUSED = "refused.test";
export const nodeAddresses = ["127.0.0.1", "127.0.0.2"] as const;
/** An address without a node: a test may listen there. */
export const OTHER_ADDRESS = "127.0.0.3";

export interface NodeCertificate {
  readonly serial: string;
  /** Whether it is valid for the name, and signed by Pebble. */
  readonly valid: boolean;
  /** Whether the handshake presented more than the certificate itself: the chain. */
  readonly hasChain: boolean;
}

export interface AcmeScene {
  readonly plane: ControlPlane;
  readonly pebble: Pebble;
  /** Pebble's root certificate. */
  readonly root: string;
  readonly httpPort: number;
  readonly tlsPort: number;
  readonly operators: readonly [RestartableOperator, RestartableOperator];
  apply(...objects: readonly object[]): Promise<string>;
  /** A condition of a Certificate, as `status reason message`; empty: it has none. */
  condition(certificate: string, type: string, namespace?: string): Promise<string>;
  /** The certificate that a node presents for a name. */
  presented(address: string, name: string): Promise<NodeCertificate>;
  /** Waits until both nodes present a certificate of Pebble for the name, other than the one with this serial. */
  served(name: string, before?: string): Promise<NodeCertificate>;
  /** The number of orders that Pebble has received, successful or not. */
  orderCount(): number;
  leader(): Promise<RestartableOperator>;
  stop(): Promise<void>;
}

export async function startAcmeScene(): Promise<AcmeScene> {
  const folder = temporaryFolder("acme-cluster");
  const ends: (() => unknown)[] = [folder.remove];
  const stop = async () => {
    for (const end of ends.splice(0).reverse()) await end();
  };
  try {
    const [httpPort, tlsPort] = [await freePort(), await freePort()];
    const pebble = await startPebble({ httpPort, tlsPort, refusedNames: [REFUSED] });
    ends.push(pebble.stop);
    const plane = await startControlPlane({ audit: true });
    ends.push(plane.stop);
    await prepare(plane);
    const certificates = await writePushCertificates(join(folder.path, "push"));
    const nodes = [];
    for (const [index, address] of nodeAddresses.entries()) {
      const listens = {
        SLUICE_PROXY_LISTEN: `${address}:${httpPort}`,
        SLUICE_PROXY_TLS_LISTEN: `${address}:${tlsPort}`,
      };
      const node = await nodeOf(`node-${index + 1}`, { ...certificates.node, ...listens });
      ends.push(() => node.process.stop());
      nodes.push(node);
    }
    const settings = {
      KUBECONFIG: await plane.kubeconfigFor(clusterUsers.operator),
      SLUICE_NODES: nodes.map(({ push }) => push).join(","),
      SLUICE_PRIVATE_NAMESPACE: PRIVATE,
      SLUICE_LEASE_DURATION: "3s",
      SLUICE_LEASE_RENEW_DEADLINE: "2s",
      SLUICE_LEASE_RETRY: "500ms",
      SLUICE_ACME: "true",
      SLUICE_ACME_DIRECTORIES: pebble.directory,
      SLUICE_ACME_CA_FILE: pebble.authorityFile,
      SLUICE_ACME_EMAIL: "ops@example.com",
      ...certificates.operator,
    };
    const operators = [await operatorOf("operator-1", settings), await operatorOf("operator-2", settings)] as const;
    for (const operator of operators) ends.push(() => operator.process.stop());
    const root = await pebble.root();
    const presented = (address: string, name: string) => handshake({ host: address, port: tlsPort, name, root });
    return {
      plane,
      pebble,
      root,
      httpPort,
      tlsPort,
      operators,
      apply: (...items) =>
        plane.kubectl(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items })),
      condition(certificate, type, namespace = "default") {
        const path = `{range .status.conditions[?(@.type=="${type}")]}{.status} {.reason} {.message}{end}`;
        return plane.kubectl(["-n", namespace, "get", "gwcert", certificate, "-o", `jsonpath=${path}`]);
      },
      presented,
      served: (name, before) =>
        waitFor(
          async () => {
            const [one, other] = await Promise.all(nodeAddresses.map((address) => presented(address, name)));
            return one?.valid && one.serial !== before && one.serial === other?.serial && one;
          },
          { what: `a new certificate of ${name} on both nodes`, timeout: 60_000, interval: 100 },
        ),
      orderCount: () => pebble.process.output().match(/Added order/g)?.length ?? 0,
      leader: () =>
        waitFor(
          async () => {
            const terms = await Promise.allSettled(operators.map((operator) => operator.status()));
            return operators[terms.findIndex((one) => one.status === "fulfilled" && one.value.term !== null)];
          },
          { what: "an operator to lead", timeout: 30_000 },
        ),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function prepare(plane: ControlPlane): Promise<void> {
  await plane.kubectl(["apply", "--server-side", "-f", join(repositoryRoot, "crds")]);
  await plane.kubectl(["create", "namespace", PRIVATE]);
  await plane.kubectl(["create", "namespace", "team"]);
  for (const manifests of [roleManifests("default", PRIVATE), acmeManifests(PRIVATE)])
    await plane.kubectl(["apply", "--server-side", "-f", "-"], manifests);
  await plane.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"]);
  await waitFor(() => plane.kubectl(["get", "sluice", "--all-namespaces"]), { what: "the new kinds to be served" });
}

interface Handshake {
  readonly host: string;
  readonly port: number;
  readonly name: string;
  readonly root: string;
}

function handshake({ host, port, name, root }: Handshake): Promise<NodeCertificate> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, servername: name, ca: root, rejectUnauthorized: false }, () => {
      const found = socket.getPeerCertificate(true);
      const hasChain =
        found.issuerCertificate !== undefined && found.issuerCertificate.serialNumber !== found.serialNumber;
      resolve({ serial: found.serialNumber, valid: socket.authorized, hasChain });
      socket.destroy();
    });
    socket.setTimeout(10_000, () => socket.destroy(new Error("the handshake took more than 10 s")));
    socket.on("error", reject);
  });
}
