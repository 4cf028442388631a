/**
 * Rotates the webhook's certificate. It is stored in a Secret that all replicas of the operator share. Its authorities
 * are stored in the ValidatingWebhookConfiguration, whose address gives the certificate's names. Everything is checked
 * every minute, so that changes by others are repaired.
 */
import type { ClusterObject, ClusterObjects, Resource, ResourceClient } from "@sluice/crds";
import type { Logger } from "pino";
import type { CertificatePair } from "../certificates/authority.ts";
import { type CertificatePlan, type CertificateSet, renewCertificates } from "../certificates/certificate-rotation.ts";
import { expectationOf, secretEntry, secretOf } from "../certificates/certificate-secret.ts";
import { repeatUntilAborted } from "../certificates/repeat-until-aborted.ts";

export interface WebhookCertificateOptions {
  readonly client: Pick<ResourceClient, "get" | "apply">;
  readonly objects: Pick<ClusterObjects, "get" | "apply">;
  /** Name of the ValidatingWebhookConfiguration. */
  readonly configuration: string;
  readonly secret: { readonly namespace: string; readonly name: string };
  readonly manager: string;
  /** Called with the certificate once the API server trusts it, and whenever it changes. */
  readonly onCertificate: (pair: CertificatePair) => void;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly now?: () => Date;
  /** Milliseconds between two checks; a tenth of it after a failure. Default 60,000. */
  readonly interval?: number;
}

/** Replicas, and with them the API server's configuration, are updated once a minute. */
const OVERLAP = 10 * 60_000;

/** Runs until the signal aborts; never rejects. */
export async function rotateWebhookCertificate(options: WebhookCertificateOptions): Promise<void> {
  const { signal, log, onCertificate, interval = 60_000 } = options;
  let shown: string | undefined;
  await repeatUntilAborted({
    async attempt() {
      const { serving } = (await rotateOnce(options)).certificates;
      if (serving.certificate !== shown) {
        onCertificate(serving);
        shown = serving.certificate;
        log.info("loaded the webhook's certificate");
      }
      return interval;
    },
    failureMessage: "cannot rotate the webhook's certificate",
    retryInterval: interval / 10,
    log,
    signal,
  });
}

/** One check: returns the certificates, after writing what was missing. */
async function rotateOnce(options: WebhookCertificateOptions): Promise<CertificateSet<"serving">> {
  const { client, objects, configuration, secret, manager, now = () => new Date() } = options;
  const found = await objects.get(KIND, configuration);
  if (!found)
    throw new Error(`there is no ValidatingWebhookConfiguration ${configuration}: nothing is checked at apply`);
  const plan: CertificatePlan<"serving"> = {
    authority: "sluice webhook authority",
    certificates: { serving: { names: serverNamesOf(found), usage: "server" } },
    overlap: OVERLAP,
  };
  const resource = await client.get({ kind: "Secret", ...secret });
  const stored = resource && storedIn(resource);
  const current = await renewCertificates(stored, plan, { now: now() });
  if (current !== stored)
    await client.apply("Secret", asSecret(current, secret), { manager, force: true, expect: expectationOf(resource) });
  await publishAuthorities(found, current.authorities, { objects, manager });
  return current;
}

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

/** The names by which the API server calls the webhook: of its core Service, or from the URL. */
function serverNamesOf(configuration: ClusterObject): readonly string[] {
  const names = webhooksOf(configuration).map(({ clientConfig: { url, service } }) =>
    service ? `${service.name}.${service.namespace}.svc` : new URL(url ?? "").hostname.replace(/^\[|\]$/g, ""),
  );
  if (names.length === 0) throw new Error("the ValidatingWebhookConfiguration names no webhook");
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

const entries = { authorities: "ca.crt", authorityKeys: "ca.key", certificate: "tls.crt", key: "tls.key" } as const;

function storedIn(resource: Resource): CertificateSet<"serving"> {
  const text = (entry: keyof typeof entries) => secretEntry(resource, entries[entry]);
  return {
    authorities: text("authorities"),
    authorityKeys: text("authorityKeys"),
    certificates: { serving: { certificate: text("certificate"), key: text("key") } },
  };
}

const asSecret = (
  { authorities, authorityKeys, certificates }: CertificateSet<"serving">,
  place: WebhookCertificateOptions["secret"],
) =>
  secretOf(place, {
    [entries.authorities]: authorities,
    [entries.authorityKeys]: authorityKeys,
    [entries.certificate]: certificates.serving.certificate,
    [entries.key]: certificates.serving.key,
  });
