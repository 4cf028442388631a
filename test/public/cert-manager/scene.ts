/**
 * A cluster with pods, Sluice, cert-manager and the ACME server Pebble. cert-manager and Pebble are processes in the
 * node's network; the servers for HTTP-01 challenges, which cert-manager starts, are pods. cert-manager's webhook,
 * which only refuses invalid resources, does not run.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { Agent, get } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { connect } from "node:tls";
import type { Cluster } from "../../../tools/cluster/pods/cluster.ts";
import { programImage } from "../../../tools/cluster/pods/images.ts";
import { startInstallation } from "../../../tools/gateway-api/installation.ts";
import { type Process, waitFor } from "../../../tools/process/index.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";

const solverImage = "sluice.test/acmesolver:1";
const namesAddress = "127.0.0.1:8053";

/** The directory of the ACME server, as seen by cert-manager. */
export const acmeDirectory = "https://127.0.0.1:14000/dir";

/** The certificate that a handshake presents. */
export interface PresentedCertificate {
  readonly serial: string;
  /** Whether it is valid for the name, and signed by the given authority. */
  readonly valid: boolean;
}

export interface CertManagerScene {
  readonly cluster: Cluster;
  readonly pebble: Process;
  /** The ACME server's root certificate, PEM. */
  readonly root: string;
  /** Lets a name lead to an address in the cluster, for cert-manager and for the ACME server. */
  setName(name: string, address: string): Promise<void>;
  /** The certificate that the port presents for a name. Rejects if there is no handshake. */
  presented(port: number, name: string, authority: string): Promise<PresentedCertificate>;
  stop(): Promise<void>;
}

const labels = { app: "shop" };
const program = 'require("node:http").createServer((_, response) => response.end("hello")).listen(8080)';

/** What the reader of the page has: a core Service `shop`, and the class `sluice`. */
const shop: readonly object[] = [
  {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "shop" },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [
            {
              name: "shop",
              image: "sluice/gateway:0.1.0",
              imagePullPolicy: "IfNotPresent",
              command: ["node", "--eval", program],
              readinessProbe: { httpGet: { path: "/", port: 8080 }, periodSeconds: 1 },
            },
          ],
        },
      },
    },
  },
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "shop" },
    spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
  },
];

export async function startCertManagerScene(): Promise<CertManagerScene> {
  const certManager = await obtainTool("cert-manager");
  const cluster = await startInstallation({
    images: [programImage(certManager, solverImage, ["acmesolver"])],
    values: ["gateway.tls.enabled=true"],
  });
  const processes: Process[] = [];
  async function stop(): Promise<void> {
    await Promise.all(processes.map((process) => process.stop()));
    await cluster.down();
  }
  try {
    await cluster.kubectl(["apply", "--server-side", "-f", await obtainTool("cert-manager-crds")]);
    await cluster.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]);
    await cluster.kubectl(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items: shop }));
    const names = await cluster.start(
      await obtainTool("pebble-names"),
      ["-dnsserver", namesAddress, "-management", "127.0.0.1:8055", "-defaultIPv4=", "-defaultIPv6="].concat(
        ["http01", "https01", "tlsalpn01", "doh"].map((server) => `-${server}=`),
      ),
      { name: "the name server", ready: /Starting management server/ },
    );
    processes.push(names);
    const { pebble, authority } = await startPebble(cluster);
    processes.push(pebble);
    processes.push(
      await cluster.start(certManager, ["-solver-image", solverImage, "-nameservers", namesAddress], {
        name: "cert-manager",
        env: { SSL_CERT_FILE: authority },
        ready: /runs its controllers/,
        timeout: 60_000,
      }),
    );
    const [management, roots] = [await cluster.forward("127.0.0.1", 8055), await cluster.forward("127.0.0.1", 15_000)];
    const agent = new Agent({ ca: readFileSync(authority) });
    const root = await waitFor(
      () =>
        new Promise<string>((resolve, reject) => {
          get(`https://127.0.0.1:${roots.port}/roots/0`, { agent }, (response) => resolve(text(response))).on(
            "error",
            reject,
          );
        }),
      { what: "the root certificate of the ACME server" },
    );
    return {
      cluster,
      pebble,
      root,
      async setName(host, address) {
        const body = JSON.stringify({ host, addresses: [address] });
        const answer = await fetch(`http://127.0.0.1:${management.port}/add-a`, { method: "POST", body });
        if (!answer.ok) throw new Error(`the name server answered ${answer.status} ${await answer.text()}`);
      },
      presented,
      stop,
    };
  } catch (error) {
    const logs = processes.map(({ name, tail }) => `--- ${name}\n${tail()}`).join("\n");
    await stop();
    throw new Error(`${error instanceof Error ? error.message : error}\n${logs}`, { cause: error });
  }
}

/** Resolves when the server listens, also to the path of the authority of its own certificate. */
async function startPebble(cluster: Cluster): Promise<{ readonly pebble: Process; readonly authority: string }> {
  const authority = await makeAuthority("the ACME server's authority");
  const pair = await authority.issue({ name: "pebble", sans: ["127.0.0.1"], usage: "server" });
  const file = (name: string, content: string) => {
    const path = join(cluster.folder, `pebble-${name}`);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };
  const config = {
    pebble: {
      listenAddress: "127.0.0.1:14000",
      managementListenAddress: "127.0.0.1:15000",
      certificate: file("certificate.pem", pair.certificate),
      privateKey: file("key.pem", pair.key),
      // The ports of clients' servers, as for Let's Encrypt.
      httpPort: 80,
      tlsPort: 443,
    },
  };
  const pebble = await cluster.start(
    await obtainTool("pebble"),
    ["-config", file("config.json", JSON.stringify(config)), "-dnsserver", namesAddress],
    // Each order has new authorizations, so each needs the answer to a challenge.
    { name: "Pebble", env: { PEBBLE_AUTHZREUSE: "0", PEBBLE_VA_NOSLEEP: "1" }, ready: /ACME directory available/ },
  );
  return { pebble, authority: file("authority.pem", authority.certificate) };
}

function presented(port: number, name: string, authority: string): Promise<PresentedCertificate> {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, servername: name, ca: authority, rejectUnauthorized: false };
    const socket = connect(options, () => {
      resolve({ serial: socket.getPeerCertificate().serialNumber, valid: socket.authorized });
      socket.destroy();
    });
    socket.setTimeout(10_000, () => socket.destroy(new Error("the handshake took more than 10 s")));
    socket.on("error", reject);
  });
}
