/** Checks the access settings when the listener starts, and loads the certificates that they name. */
import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import type { ClusterAuthorizer, Log } from "@sluice/crds";
import { hostAndPort, SettingsError } from "@sluice/model/serving";
import type { AccessSettings } from "../../settings/access.ts";
import { type AdminSettings, adminSettings as names } from "../../settings/commands/admin.ts";
import { type Authorizer, createAuthorizer } from "./authorizer.ts";
import { isLoopbackHost } from "./browser-guard.ts";

export interface AdminAccess {
  readonly authorize: Authorizer;
  readonly tls: AdminTls | null;
  /** Whether every authorized caller has sent a token, which no web page can make a browser do. */
  readonly requiresToken: boolean;
  close(): Promise<void>;
}

export interface AdminTls {
  readonly cert: string;
  readonly key: string;
  /**
   * If set, clients are asked for certificates, and a certificate that this authority issued authenticates requests.
   */
  readonly ca?: string;
}

type AccessOptions = Pick<AdminSettings, keyof AccessSettings | "listen" | "store" | "homeNamespace">;

/**
 * @throws SettingsError when other machines could use the listener without authentication, or when settings are invalid
 * or contradict each other.
 */
export async function openAccess(settings: AccessOptions, log: Log): Promise<AdminAccess> {
  const fault = faultIn(settings);
  if (fault !== undefined) throw new SettingsError(fault);
  const { token, kubernetes, listen } = settings;
  const tls = await readTls(settings);
  const certificates = settings.tlsAuthority !== null;
  if (isReachable(settings)) {
    if (settings.access === "anyone")
      log.warn({ listen }, `every client that can connect may use the admin API (${names.access.variable}=anyone)`);
    else if (!tls) log.warn({ listen }, "the admin listener has no TLS: tokens are sent to it in clear text");
  }
  const cluster = kubernetes ? await openCluster() : null;
  const { homeNamespace } = settings;
  const anonymous = isReachable(settings) ? "anonymous" : "anonymous (loopback)";
  const authorize = createAuthorizer({ token, certificates, cluster, homeNamespace, anonymous });
  const requiresToken = (token !== null || kubernetes) && !certificates;
  return { authorize, tls, requiresToken, close: async () => cluster?.close() };
}

/** Minimum length, in characters, of a token for a listener that is reachable over a network. */
const MIN_TOKEN = 16;

const isReachable = ({ listen }: AccessOptions): boolean => !isLoopbackHost(listen.host.toLowerCase());

function faultIn(settings: AccessOptions): string | undefined {
  const { token, tlsAuthority, kubernetes, access, listen, store, origins } = settings;
  const proofs = [names.token, names.tlsAuthority, names.kubernetes].map(({ variable }) => variable).join(", ");
  const isProof = token !== null || tlsAuthority !== null || kubernetes;
  if (access === "anyone" && isProof) {
    return `${names.access.variable}=anyone contradicts ${proofs}: with anyone, callers are not authenticated`;
  }
  if (access === "proven" && !isProof && isReachable(settings)) {
    return (
      `${names.listen.variable} is ${hostAndPort(listen)}, which other machines may reach, and callers are not ` +
      `authenticated: set one of ${proofs}, ${names.tokenFile.variable}, or ${names.access.variable}=anyone; or listen on ` +
      "127.0.0.1:8001"
    );
  }
  if (token !== null && token.length < MIN_TOKEN && isReachable(settings)) {
    return `${names.token.variable} is shorter than ${MIN_TOKEN} characters and could be guessed: such a token is accepted on a loopback address only`;
  }
  if (kubernetes && store !== "cluster") {
    return `${names.kubernetes.variable} needs ${names.store.variable}=cluster: RBAC applies to custom resources only`;
  }
  const odd = origins.find((origin) => !isOrigin(origin));
  if (odd === undefined) return undefined;
  return `${names.origins.variable}: '${odd}' is not an origin: expected a scheme, a host and an optional port, such as https://console.example.com`;
}

/** Whether the text is spelled as browsers spell origins, ignoring case: a different spelling would never match. */
function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text.toLowerCase();
}

async function readTls({ tlsCert, tlsKey, tlsAuthority }: AccessOptions): Promise<AdminTls | null> {
  if (tlsCert === null && tlsKey === null && tlsAuthority === null) return null;
  if (tlsCert === null || tlsKey === null) {
    const both = `${names.tlsCert.variable} and ${names.tlsKey.variable}`;
    throw new SettingsError(
      tlsAuthority === null ? `${both} belong together: set both` : `${names.tlsAuthority.variable} needs ${both}`,
    );
  }
  const [cert, key] = await Promise.all([readFile(tlsCert, "utf8"), readFile(tlsKey, "utf8")]);
  const tls = { cert, key, ...(tlsAuthority !== null && { ca: await readFile(tlsAuthority, "utf8") }) };
  const used = [names.tlsCert, names.tlsKey, ...(tlsAuthority === null ? [] : [names.tlsAuthority])];
  try {
    createSecureContext(tls);
  } catch (error) {
    const variables = used.map(({ variable }) => variable).join(", ");
    throw new SettingsError(`${variables} cannot be used together: ${(error as Error).message}`);
  }
  return tls;
}

// Loaded on demand: a listener that accepts no Kubernetes tokens needs no Kubernetes client.
async function openCluster(): Promise<ClusterAuthorizer> {
  const { createClusterAuthorizer, KubeconfigError } = await import("@sluice/crds");
  try {
    return createClusterAuthorizer();
  } catch (error) {
    throw error instanceof KubeconfigError ? new SettingsError(error.message) : error;
  }
}
