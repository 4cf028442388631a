/**
 * Rotates the webhook's certificate. It is stored in a Secret that all replicas of the operator share. Its authorities
 * are also written to the ValidatingWebhookConfiguration. The names in the certificate are the host names by which that
 * object addresses the webhook.
 * Everything is checked every minute, so that changes by other clients are repaired.
 */
import type { ClusterObject, ClusterObjects, Resource, ResourceClient } from "@sluice/crds";
import type { Logger } from "pino";
import type { CertificatePair } from "../certificates/authority.ts";
import { type CertificatePlan, type CertificateSet, renewCertificates } from "../certificates/certificate-rotation.ts";
import { secretEntry, writeSecret } from "../certificates/certificate-secret.ts";
import { rotateUntilAborted } from "../certificates/rotation-loop.ts";

export interface WebhookCertificateOptions {
  readonly client: Pick<ResourceClient, "get" | "apply">;
  readonly objects: Pick<ClusterObjects, "get" | "apply">;
  /** Name of the ValidatingWebhookConfiguration, and of the Secret. */
  readonly name: string;
  readonly secretNamespace: string;
  readonly manager: string;
  /** Called with the certificate once the API server trusts it, and whenever it changes. */
  readonly onCertificate: (pair: CertificatePair) => void;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly now?: () => Date;
  /** Milliseconds between two checks; after a failure, a tenth of this. Default 60,000. */
  readonly interval?: number;
}

/** Milliseconds within which all replicas and the API server have new certificates: a replica checks once a minute. */
const OVERLAP = 10 * 60_000;

/** Runs until the signal aborts; never rejects. */
export function rotateWebhookCertificate(options: WebhookCertificateOptions): Promise<void> {
  const { signal, log, onCertificate, interval = 60_000 } = options;
  return rotateUntilAborted({
    check: () => rotateOnce(options),
    onCertificate,
    subject: "the webhook's certificate",
    interval,
    retryInterval: interval / 10,
    log,
    signal,
  });
}

/** One check: writes missing or outdated parts of the Secret and the configuration. Returns the certificate. */
async function rotateOnce(options: WebhookCertificateOptions): Promise<CertificatePair> {
  const { client, objects, name, secretNamespace, manager, now = () => new Date() } = options;
  const configuration = await objects.get(KIND, name);
  if (!configuration)
    throw new Error(`there is no ValidatingWebhookConfiguration ${name}: resources are not validated at kubectl apply`);
  const plan: CertificatePlan<"serving"> = {
    authority: "sluice webhook authority",
    certificates: { serving: { names: serverNamesOf(configuration), usage: "server" } },
    overlap: OVERLAP,
  };
  const place = { namespace: secretNamespace, name };
  const found = await client.get({ kind: "Secret", ...place });
  const current = await renewCertificates(found && storedIn(found), plan, { now: now() });
  const { serving } = current.certificates;
  const texts = {
    "ca.crt": current.authorities,
    "ca.key": current.authorityKeys,
    "tls.crt": serving.certificate,
    "tls.key": serving.key,
  };
  await writeSecret(place, { client, manager, found, texts });
  await publishAuthorities(configuration, current.authorities, { objects, manager });
  return serving;
}

const storedIn = (secret: Resource): CertificateSet<"serving"> => ({
  authorities: secretEntry(secret, "ca.crt"),
  authorityKeys: secretEntry(secret, "ca.key"),
  certificates: { serving: { certificate: secretEntry(secret, "tls.crt"), key: secretEntry(secret, "tls.key") } },
});

const KIND = "ValidatingWebhookConfiguration";

interface Webhook {
  readonly name: string;
  readonly clientConfig: {
    readonly url?: string;
    readonly service?: { readonly namespace: string; readonly name: string };
    readonly caBundle?: string;
  };
}

const webhooksOf = ({ webhooks }: ClusterObject): readonly Webhook[] => (webhooks ?? []) as readonly Webhook[];

/** The host names by which the API server calls the webhooks: the DNS name of a core Service, or the URL's host. */
function serverNamesOf(configuration: ClusterObject): readonly string[] {
  const names = webhooksOf(configuration).map(({ clientConfig: { url, service } }) =>
    service ? `${service.name}.${service.namespace}.svc` : new URL(url ?? "").hostname.replace(/^\[|\]$/g, ""),
  );
  if (names.length === 0) throw new Error("the ValidatingWebhookConfiguration contains no webhook");
  return [...new Set(names)];
}

async function publishAuthorities(
  configuration: ClusterObject,
  authorities: string,
  { objects, manager }: Pick<WebhookCertificateOptions, "objects" | "manager">,
): Promise<void> {
  const caBundle = Buffer.from(authorities).toString("base64");
  const webhooks = webhooksOf(configuration);
  if (webhooks.every(({ clientConfig }) => clientConfig.caBundle === caBundle)) return;
  const { apiVersion, kind } = configuration;
  const { name, resourceVersion } = configuration.metadata;
  const applied = {
    apiVersion,
    kind,
    metadata: { name, ...(resourceVersion !== undefined && { resourceVersion }) },
    webhooks: webhooks.map((webhook) => ({ name: webhook.name, clientConfig: { caBundle } })),
  };
  await objects.apply(KIND, applied, { manager });
}
