/** What the settings say of who may use the listener, made ready at the start. */
import { readFile } from "node:fs/promises";
import type { ClusterAccess, Log } from "@sluice/crds";
import type { AccessSettings } from "../../settings/access.ts";
import { type AdminSettings, adminSettings as names } from "../../settings/admin.ts";
import { SettingsError } from "../../settings/error.ts";
import { isLoopback } from "../guard.ts";
import { createGate, type Gate } from "./gate.ts";

export interface Access {
  readonly gate: Gate;
  /** Null: plain HTTP. */
  readonly tls: Tls | null;
  /** Whoever gets in has sent a token: no web page can make a browser do that. */
  readonly provesByToken: boolean;
  close(): Promise<void>;
}

export interface Tls {
  readonly cert: string;
  readonly key: string;
  /** With it clients are asked for certificates, and each request looks whether theirs was verified. */
  readonly ca?: string;
}

type Wanted = Pick<AdminSettings, keyof AccessSettings | "listen" | "store" | "homeNamespace">;

/** @throws SettingsError when others could reach the listener unasked, or settings contradict each other. */
export async function openAccess(settings: Wanted, log: Log): Promise<Access> {
  const { token, tlsAuthority, kubernetes, access, listen } = settings;
  const tls = await readTls(settings);
  const isProven = access === "proven";
  const ways = isProven && (token !== null || tlsAuthority !== null || kubernetes);
  const reachable = !isLoopback(listen.host.toLowerCase());
  if (reachable && isProven && !ways) throw unguarded(settings);
  if (reachable && !isProven) log.warn({ listen }, "whoever reaches the admin listener may use it, as it was set");
  if (reachable && !tls && isProven)
    log.warn({ listen }, "tokens travel to the admin listener in clear: no TLS is set");
  if (kubernetes && settings.store !== "cluster") {
    throw new SettingsError(
      `${names.kubernetes.variable} needs ${names.store.variable}=cluster: RBAC knows custom resources only`,
    );
  }
  const cluster = kubernetes && isProven ? await openCluster() : null;
  const gate = createGate({
    token: isProven ? token : null,
    certificates: isProven && tlsAuthority !== null,
    cluster,
    homeNamespace: settings.homeNamespace,
  });
  const provesByToken = ways && tlsAuthority === null;
  return { gate, tls, provesByToken, close: async () => cluster?.close() };
}

async function readTls({ tlsCert, tlsKey, tlsAuthority }: Wanted): Promise<Tls | null> {
  if (tlsCert === null && tlsKey === null && tlsAuthority === null) return null;
  if (tlsCert === null || tlsKey === null) {
    const both = `${names.tlsCert.variable} and ${names.tlsKey.variable}`;
    throw new SettingsError(
      tlsAuthority === null ? `${both} belong together: set both` : `${names.tlsAuthority.variable} needs ${both}`,
    );
  }
  const [cert, key] = await Promise.all([readFile(tlsCert, "utf8"), readFile(tlsKey, "utf8")]);
  return { cert, key, ...(tlsAuthority !== null && { ca: await readFile(tlsAuthority, "utf8") }) };
}

function unguarded({ listen: { host, port } }: Wanted): SettingsError {
  return new SettingsError(
    `${names.listen.variable} is ${host}:${port}, which other machines may reach, and nothing is set by which callers ` +
      `prove who they are: set ${names.token.variable}, ${names.tlsAuthority.variable} or ${names.kubernetes.variable}, ` +
      `or ${names.access.variable}=anyone; or listen on 127.0.0.1:8001`,
  );
}

// A listener without it needs no Kubernetes client.
async function openCluster(): Promise<ClusterAccess> {
  const { createClusterAccess, KubeconfigError } = await import("@sluice/crds");
  try {
    return createClusterAccess();
  } catch (error) {
    throw error instanceof KubeconfigError ? new SettingsError(error.message) : error;
  }
}
