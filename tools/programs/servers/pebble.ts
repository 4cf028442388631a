import { readFileSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { freePort, type Process, startProcess, temporaryFolder, waitFor } from "../../process/index.ts";
import { makeAuthority } from "../certificates.ts";
import { obtainTool } from "../tool.ts";

export interface PebbleOptions {
  /** The port of names at which Pebble asks for HTTP-01 challenges. */
  readonly httpPort: number;
  /** The port of names at which Pebble makes TLS-ALPN-01 handshakes. */
  readonly tlsPort: number;
  /** Names for which Pebble refuses certificates. Default: none. */
  readonly refusedNames?: readonly string[];
  /** Seconds for which a certificate is valid. Default: 90 days. */
  readonly validity?: number;
  /** Key identifiers with HMAC keys (base64url) for external account bindings. Set: an account needs one of them. */
  readonly accountBindings?: Readonly<Record<string, string>>;
}

/** The ACME server Pebble, with a name server. Every name leads to 127.0.0.1, unless `setAddresses` changes that. */
export interface Pebble {
  /** The URL of the directory: `https://127.0.0.1:<port>/dir`. */
  readonly directory: string;
  /** PEM file of the authority of the directory's certificate, for NODE_EXTRA_CA_CERTS or a setting. */
  readonly authorityFile: string;
  /** The process, with its log. */
  readonly process: Process;
  /** The root certificate of the issued certificates, PEM. A new Pebble has a new one. */
  root(): Promise<string>;
  /** Lets a name lead to these IPv4 addresses. */
  setAddresses(name: string, addresses: readonly string[]): Promise<void>;
  /**
   * Replaces the renewal information (RFC 9773) of an issued certificate.
   *
   * @param certificate The certificate, PEM.
   */
  setRenewalInfo(certificate: string, window: { readonly start: Date; readonly end: Date }): Promise<void>;
  stop(): Promise<void>;
}

/** Starts Pebble and its name server, which Go builds when they are missing. Needs the tools pebble and pebble-names. */
export async function startPebble(options: PebbleOptions): Promise<Pebble> {
  const folder = temporaryFolder("pebble");
  const file = (name: string, content: string) => {
    const path = join(folder.path, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };
  const processes: Process[] = [];
  async function stop(): Promise<void> {
    await Promise.all(processes.map((process) => process.stop()));
    folder.remove();
  }
  try {
    const authority = await makeAuthority("the ACME server's authority");
    const pair = await authority.issue({ name: "pebble", sans: ["127.0.0.1"], usage: "server" });
    const authorityFile = file("authority.pem", authority.certificate);
    const [port, managementPort, namesPort, setNamesPort] = await Promise.all(Array.from({ length: 4 }, freePort));
    // `freePort` keeps the UDP port of 127.0.0.1 with the same number.
    const nameServer = `127.0.0.2:${namesPort}`;
    const others = ["http01", "https01", "tlsalpn01", "doh"].map((server) => `-${server}=`);
    processes.push(
      await startProcess(
        await obtainTool("pebble-names"),
        ["-dnsserver", nameServer, "-management", `127.0.0.1:${setNamesPort}`, "-defaultIPv6=", ...others],
        { name: "the name server of Pebble", ready: /Starting management server/ },
      ),
    );
    const { httpPort, tlsPort, refusedNames = [], validity, accountBindings } = options;
    const pebble = {
      listenAddress: `127.0.0.1:${port}`,
      managementListenAddress: `127.0.0.1:${managementPort}`,
      certificate: file("certificate.pem", pair.certificate),
      privateKey: file("key.pem", pair.key),
      httpPort,
      tlsPort,
      domainBlocklist: refusedNames,
      retryAfter: { authz: 1, order: 1 },
      ...(validity !== undefined && { profiles: { default: { description: "default", validityPeriod: validity } } }),
      ...(accountBindings && { externalAccountBindingRequired: true, externalAccountMACKeys: accountBindings }),
    };
    const process = await startProcess(
      await obtainTool("pebble"),
      ["-config", file("config.json", JSON.stringify({ pebble })), "-dnsserver", nameServer],
      // Each order has new authorizations, so each needs the answer to a challenge.
      { name: "Pebble", env: { PEBBLE_AUTHZREUSE: "0", PEBBLE_VA_NOSLEEP: "1" }, ready: /ACME directory available/ },
    );
    processes.push(process);
    const agent = new Agent({ ca: readFileSync(authorityFile) });
    const manage = (path: string, body?: object) =>
      callManagement(`https://127.0.0.1:${managementPort}${path}`, { agent, body });
    // Pebble reports its start before it listens.
    await waitFor(() => manage("/roots/0"), { what: "the root certificate of Pebble" });
    return {
      directory: `https://127.0.0.1:${port}/dir`,
      authorityFile,
      process,
      root: () => manage("/roots/0"),
      async setAddresses(host, addresses) {
        const body = JSON.stringify({ host, addresses });
        const response = await fetch(`http://127.0.0.1:${setNamesPort}/add-a`, { method: "POST", body });
        if (!response.ok) throw new Error(`the name server answered ${response.status} ${await response.text()}`);
      },
      async setRenewalInfo(certificate, { start, end }) {
        const suggestedWindow = { start: start.toISOString(), end: end.toISOString() };
        await manage("/set-renewal-info/", { certificate, ariResponse: JSON.stringify({ suggestedWindow }) });
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Sends a GET request or, with a body, a POST request, and resolves to the body of the response. */
function callManagement(url: string, { agent, body }: { agent: Agent; body?: object | undefined }): Promise<string> {
  return new Promise((resolve, reject) => {
    // Pebble refuses some requests without a name of the client.
    const headers = { "user-agent": "suite" };
    const sent = request(url, { agent, headers, method: body ? "POST" : "GET" }, async (response) => {
      const answer = await text(response).catch(reject);
      if (answer === undefined) return;
      if (response.statusCode === 200) resolve(answer);
      else reject(new Error(`Pebble answered ${response.statusCode} ${answer}`));
    });
    sent.on("error", reject);
    sent.end(body && JSON.stringify(body));
  });
}
