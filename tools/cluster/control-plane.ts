import { execFile } from "node:child_process";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { freePort, type Process, startProcess, temporaryFolder } from "../process/index.ts";
import { makeAuthority, type TestAuthority } from "../programs/certificates.ts";
import { obtainTool } from "../programs/tool.ts";
import { type AuditedRequest, auditFlags, readAudit } from "./audit.ts";
import { componentCommandLines, stateFiles } from "./components.ts";
import { kubeconfig } from "./kubeconfig.ts";

/** A real Kubernetes control plane on 127.0.0.1, with its state in a temporary folder. */
export interface ControlPlane {
  /** Path of the kubeconfig of a cluster administrator (a token, group system:masters). */
  readonly kubeconfig: string;
  /** URL of the API server (https). */
  readonly server: string;
  /** Runs kubectl as the administrator and resolves to its stdout. Rejects with its stderr. */
  kubectl(args: readonly string[], input?: string): Promise<string>;
  /**
   * Writes a kubeconfig with a client certificate of this user and these groups, and resolves to its path. RBAC decides
   * what the user may do.
   */
  kubeconfigFor(user: string, groups?: readonly string[]): Promise<string>;
  /** Stops the API server and starts it on the same port and data. Resolves when it is ready. */
  restartApiServer(): Promise<void>;
  /**
   * Compacts etcd's history. An API server that is already running still has the latest versions in its watch cache.
   */
  compact(): Promise<void>;
  /** All requests for objects to the API server so far. Only with the option `audit`. */
  audited(): readonly AuditedRequest[];
  /** Stops all components and removes the state. */
  stop(): Promise<void>;
  /** The last log lines of each component. */
  logs(): Promise<string>;
}

/** What a control plane has in addition to etcd and an API server. */
export interface ControlPlaneOptions {
  /** The controller manager, with the controllers that components.ts lists. Default false. */
  readonly controllers?: boolean;
  /** The API server keeps an audit log, which `audited` reads. Default false. */
  readonly audit?: boolean;
}

const startTimeout = 60_000;

/**
 * The percentage by which the heap of a component or of kubectl grows between two garbage collections. With Go's
 * default of 100, a control plane that runs for a few seconds needs a seventh more processor time.
 */
const GARBAGE_COLLECTION = { GOGC: "400" };

/**
 * Starts etcd and kube-apiserver (TLS and RBAC on), and the controller manager if `controllers` is set, on free ports.
 * It takes about 4 s once the binary has been built.
 *
 * Without controllers a deleted namespace stays Terminating, and the dependents of deleted objects remain. There are no
 * nodes: pods are objects that never run.
 *
 * @throws Error with the end of the component's log, when a component does not become ready.
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const binary = await obtainTool("kube");
  const folder = temporaryFolder("cluster");
  const running: Partial<Record<keyof ReturnType<typeof componentCommandLines>, Process>> = {};
  const end = async () => {
    // The state is discarded, so no graceful shutdown is needed.
    await Promise.all(Object.values(running).map((component) => component.kill9()));
    folder.remove();
  };
  try {
    const ports = { etcd: await freePort(), etcdPeer: await freePort(), apiServer: await freePort() };
    const server = `https://127.0.0.1:${ports.apiServer}`;
    const credentials = await writeCredentials(folder.path, server);
    const lines = componentCommandLines(folder.path, ports);
    const args = options.audit ? { ...lines, apiServer: [...lines.apiServer, ...auditFlags(folder.path)] } : lines;
    const isReady = () => isUp({ server, ...credentials });
    const start = async (name: keyof typeof running, ready?: () => unknown) => {
      const [component = name] = args[name];
      const options = { name: component, ready, timeout: startTimeout, env: GARBAGE_COLLECTION };
      running[name] = await startProcess(binary, args[name], options);
    };
    // Started together: the API server loads while etcd starts, and then waits for etcd.
    await Promise.all([start("etcd"), start("apiServer", isReady)]);
    if (options.controllers) await start("controllers");
    const kubectl = (input: string | undefined, all: readonly string[]) =>
      run(binary, ["kubectl", `--cache-dir=${join(folder.path, "kubectl-cache")}`, ...all], input);
    let users = 0;
    return {
      kubeconfig: join(folder.path, stateFiles.admin),
      server,
      kubectl: (args, input) => kubectl(input, [`--kubeconfig=${join(folder.path, stateFiles.admin)}`, ...args]),
      async kubeconfigFor(user, groups = []) {
        const path = join(folder.path, `user-${++users}.kubeconfig`);
        const identity = await credentials.authority.issue({ name: user, organizations: groups, usage: "client" });
        writePrivate(path, kubeconfig({ server, authority: credentials.authority.certificate, identity }));
        return path;
      },
      async restartApiServer() {
        // Killed after 500 ms: open watches would delay a shutdown, and clients must handle a cut connection anyway.
        await running.apiServer?.stop(500);
        await start("apiServer", isReady);
      },
      async compact() {
        const ask = async (path: string, body: object) => {
          const address = `http://127.0.0.1:${ports.etcd}/v3/kv/${path}`;
          const answer = await fetch(address, { method: "POST", body: JSON.stringify(body) });
          if (!answer.ok) throw new Error(`etcd answered ${answer.status} ${await answer.text()}`);
          return (await answer.json()) as { readonly header: { readonly revision: string } };
        };
        const { header } = await ask("range", { key: Buffer.from("none").toString("base64") });
        await ask("compaction", { revision: header.revision, physical: true });
      },
      audited: () => readAudit(folder.path),
      stop: end,
      logs: async () =>
        Object.values(running)
          .map((component) => `--- ${component.name}\n${component.tail(200)}`)
          .join("\n"),
    };
  } catch (error) {
    await end();
    throw error;
  }
}

/**
 * Fills the state folder with keys, certificates, the token file and the kubeconfigs of the administrator and of the
 * controller manager. Resolves to the certificate authority and the administrator's token.
 */
async function writeCredentials(folder: string, server: string): Promise<{ authority: TestAuthority; token: string }> {
  const authority = await makeAuthority();
  const serving = await authority.issue({
    name: "kube-apiserver",
    sans: ["127.0.0.1", "localhost", "kubernetes.default.svc"],
    usage: "server",
  });
  const account = generateKeyPairSync("ec", {
    namedCurve: "P-256",
    publicKeyEncoding: { type: "spki", format: "pem" },
    // The API server also takes the public key from this file, which it can do only if the file is in SEC 1 form.
    privateKeyEncoding: { type: "sec1", format: "pem" },
  });
  const token = randomBytes(16).toString("hex");
  const controllerToken = randomBytes(16).toString("hex");
  const put = (name: keyof typeof stateFiles, text: string) => writePrivate(join(folder, stateFiles[name]), text);
  const access = (token: string) => kubeconfig({ server, authority: authority.certificate, identity: { token } });
  put("authority", authority.certificate);
  put("certificate", serving.certificate);
  put("key", serving.key);
  put("accountKey", account.privateKey);
  put(
    "tokens",
    `${token},admin,admin,"system:masters"\n${controllerToken},system:kube-controller-manager,controllers,"system:masters"\n`,
  );
  put("admin", access(token));
  put("controllers", access(controllerToken));
  return { authority, token };
}

function writePrivate(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600 });
}

/** Whether the API server is ready and has created the namespace `default`, which every apply needs. */
async function isUp(access: { server: string; authority: TestAuthority; token: string }): Promise<boolean> {
  for (const path of ["/readyz", "/api/v1/namespaces/default"]) {
    if ((await status(`${access.server}${path}`, access)) !== 200) return false;
  }
  return true;
}

function status(address: string, access: { authority: TestAuthority; token: string }): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${access.token}` };
    const options = { ca: access.authority.certificate, headers, agent: false, signal: AbortSignal.timeout(2_000) };
    request(address, options, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("error", reject)
      .end();
  });
}

/** Runs a command to its end and resolves to its stdout. Rejects with its stderr when it fails. */
function run(command: string, args: readonly string[], input = ""): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { maxBuffer: 64 * 1024 * 1024, env: { ...process.env, ...GARBAGE_COLLECTION } };
    const child = execFile(command, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${args.join(" ")}: ${stderr.trim() || error.message}`, { cause: error }));
    });
    child.stdin?.on("error", () => {});
    child.stdin?.end(input);
  });
}
