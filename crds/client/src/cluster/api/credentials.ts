/**
 * The credentials and the address of the API server, from a kubeconfig, an exec plugin or the pod's service account.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { RequestOptions } from "node:https";

import type { Dispatcher } from "undici";
import { createKubeConfig, type KubeConfig } from "./kube-config.ts";

export interface KubeconfigOptions {
  /** Path of a kubeconfig. Unset: KUBECONFIG, or else ~/.kube/config, or else the pod's service account. */
  readonly kubeconfig?: string;
  /** A context of the kubeconfig. Default: its current context. */
  readonly context?: string;
}

/** An error that the person who starts the process can fix; its message is one line. */
export class KubeconfigError extends Error {
  override readonly name = "KubeconfigError";
}

/** @throws KubeconfigError when the file or the context does not exist, or the file is not a kubeconfig. */
export function loadKubeconfig(options: KubeconfigOptions): KubeConfig {
  const config = createKubeConfig();
  try {
    if (options.kubeconfig) config.loadFromFile(options.kubeconfig);
    else config.loadFromDefault();
  } catch (error) {
    const [reason] = (error instanceof Error ? error.message : String(error)).split("\n");
    throw new KubeconfigError(`the kubeconfig cannot be read: ${reason}; KUBECONFIG sets its path`);
  }
  if (options.context !== undefined) {
    const names = config.getContexts().map(({ name }) => name);
    if (!names.includes(options.context))
      throw new KubeconfigError(
        `the kubeconfig has no context ${options.context}; it has ${names.join(", ") || "none"}`,
      );
    config.setCurrentContext(options.context);
  }
  if (!config.getCurrentCluster()) {
    const message = "the kubeconfig names no cluster for its current context; KUBECONFIG sets its path";
    throw new KubeconfigError(message);
  }
  return config;
}

export interface ApiEndpoint {
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly dispatcher: Dispatcher;
}

export type Credentials = ReturnType<typeof createCredentials>;

/**
 * Milliseconds for which credentials are kept. Token files and certificates may change at any time, but reading them
 * for every call would be wasteful.
 */
const freshFor = 10_000;
const connectTimeout = 10_000;

/**
 * Reads the credentials, and keeps one dispatcher for all calls. client-node 2.0 creates an undici Agent per call, and
 * thus makes a TLS handshake per call. Here, a new dispatcher is created only when the server's address, the proxy or
 * the TLS material changes.
 */
export function createCredentials(config: KubeConfig, now: () => number = () => performance.now()) {
  let current: { access: ApiEndpoint; material: string; readAt: number } | undefined;
  let reading: Promise<ApiEndpoint> | undefined;

  async function read(): Promise<ApiEndpoint> {
    // Loaded here, like client-node (see createKubeConfig), because most processes use no cluster.
    const { Agent, ProxyAgent } = await import("undici");
    const cluster = config.getCurrentCluster();
    if (!cluster) throw new Error("the kubeconfig names no cluster for its current context");
    const options: RequestOptions = {};
    await config.applyToHTTPSOptions(options);
    const headers = Object.fromEntries(
      Object.entries(options.headers ?? {}).map(([name, value]) => [name, `${value}`]),
    );
    const tokenFile = tokenFileOf(config);
    if (tokenFile) headers.Authorization = `Bearer ${(await readFile(tokenFile, "utf8")).trim()}`;
    if (options.auth) headers.Authorization = `Basic ${Buffer.from(options.auth).toString("base64")}`;
    const { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername } = options;
    const tls = { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername };
    const material = createHash("sha256")
      .update(JSON.stringify([cluster.server, cluster.proxyUrl, tls]))
      .digest("base64");
    let dispatcher = current?.access.dispatcher;
    if (!dispatcher || current?.material !== material) {
      // The old dispatcher closes once its last request, such as a watch, has ended. Requests report their own errors.
      void current?.access.dispatcher.close().catch(() => undefined);
      const wanted = config.createDispatcherOptions(cluster, tls);
      if (wanted.type === "socks") throw new Error("a SOCKS proxy-url in the kubeconfig is not supported");
      const connect = { timeout: connectTimeout, ...("connect" in wanted ? wanted.connect : {}) };
      dispatcher =
        wanted.type === "proxy"
          ? new ProxyAgent({ uri: wanted.uri, requestTls: { timeout: connectTimeout, ...wanted.requestTls }, connect })
          : new Agent({ connect });
    }
    current = { access: { origin: cluster.server, headers, dispatcher }, material, readAt: now() };
    return current.access;
  }

  function readAnew(): Promise<ApiEndpoint> {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  return {
    /** Rejects when an exec plugin or a token file fails. */
    async endpoint(): Promise<ApiEndpoint> {
      return current && now() - current.readAt < freshFor ? current.access : readAnew();
    },
    /** Reads the credentials again after the API server refused them. Null: they are the same. */
    async reload(refused: ApiEndpoint): Promise<ApiEndpoint | null> {
      const access = await readAnew();
      const isSameToken = access.headers.Authorization === refused.headers.Authorization;
      return isSameToken && access.dispatcher === refused.dispatcher ? null : access;
    },
    async close(): Promise<void> {
      await reading?.catch(() => undefined);
      await current?.access.dispatcher.destroy();
    },
  };
}

/**
 * The path of the token file; undefined if the user has none. This module reads the file itself, because client-node
 * reads it again only once a minute by wall-clock time: a token may expire earlier, and clocks jump.
 */
function tokenFileOf(config: KubeConfig): string | undefined {
  const { tokenFile } = (config.getCurrentUser()?.authProvider?.config ?? {}) as { readonly tokenFile?: unknown };
  return typeof tokenFile === "string" ? tokenFile : undefined;
}
