/**
 * Keeps the webhook's certificate: in a Secret that all replicas of the operator share, its authority in the
 * ValidatingWebhookConfiguration, whose address also says what names the certificate is for. Everything is looked at
 * again every minute, whoever changed it.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type ClusterObject, type ClusterObjects, Conflict, type Resource, type ResourceClient } from "@sluice/crds";
import type { Logger } from "pino";
import type { Pair } from "../certificates/authority.ts";
import { renewed, type ServingCertificates } from "../certificates/serving.ts";

export interface KeeperOptions {
  readonly client: Pick<ResourceClient, "get" | "apply">;
  readonly objects: Pick<ClusterObjects, "get" | "apply">;
  /** Name of the ValidatingWebhookConfiguration. */
  readonly configuration: string;
  readonly secret: { readonly namespace: string; readonly name: string };
  readonly manager: string;
  /** Given the certificate once those who ask trust it, and again whenever it is another. */
  readonly show: (pair: Pair) => void;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly now?: () => Date;
  /** Milliseconds between two looks; after a failure a tenth of it. Default 60,000. */
  readonly interval?: number;
}

/** Runs until the signal aborts; never rejects. */
export async function keepCertificate(options: KeeperOptions): Promise<void> {
  const { signal, log, show, interval = 60_000 } = options;
  let shown: string | undefined;
  while (!signal.aborted) {
    let wait = interval;
    try {
      const { serving } = await look(options);
      if (serving.certificate !== shown) {
        show(serving);
        shown = serving.certificate;
        log.info("the webhook has a certificate");
      }
    } catch (error) {
      wait = interval / 10;
      // Another replica was quicker: what it wrote is read next.
      if (error instanceof Conflict) wait = 0;
      else if (!signal.aborted) log.warn({ err: error }, "the webhook's certificate cannot be kept");
    }
    await sleep(wait, undefined, { signal }).catch(() => undefined);
  }
}

/** One look: the certificate that is to be shown, with what it needs written. */
async function look(options: KeeperOptions): Promise<ServingCertificates> {
  const { client, objects, configuration, secret, manager, now = () => new Date() } = options;
  const found = await objects.get(KIND, configuration);
  if (!found)
    throw new Error(`there is no ValidatingWebhookConfiguration ${configuration}: nothing is checked at apply`);
  const names = namesOf(found);
  const resource = await client.get({ kind: "Secret", ...secret });
  const stored = resource && storedIn(resource);
  const current = await renewed(stored, { names, now: now() });
  if (current !== stored)
    await client.apply("Secret", asSecret(current, secret), {
      manager,
      force: true,
      expect: resource ? versionOf(resource) : "absent",
    });
  await trust(found, current.authorities, { objects, manager });
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

/** As the API server calls it: by the name of its core Service, or as a URL says. */
function namesOf(configuration: ClusterObject): readonly string[] {
  const names = webhooksOf(configuration).map(({ clientConfig: { url, service } }) =>
    service ? `${service.name}.${service.namespace}.svc` : new URL(url ?? "").hostname.replace(/^\[|\]$/g, ""),
  );
  if (names.length === 0) throw new Error("the ValidatingWebhookConfiguration names no webhook");
  return [...new Set(names)];
}

async function trust(
  configuration: ClusterObject,
  authorities: string,
  { objects, manager }: Pick<KeeperOptions, "objects" | "manager">,
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

const entries = { authorities: "ca.crt", authorityKey: "ca.key", certificate: "tls.crt", key: "tls.key" } as const;

function storedIn({ data = {} }: Resource): ServingCertificates {
  const text = (entry: string) => Buffer.from(data[entry] ?? "", "base64").toString();
  return {
    authorities: text(entries.authorities),
    authorityKey: text(entries.authorityKey),
    serving: { certificate: text(entries.certificate), key: text(entries.key) },
  };
}

/** Of no type that the operator reads as somebody's certificate. */
function asSecret(current: ServingCertificates, { namespace, name }: KeeperOptions["secret"]): Resource {
  const data = {
    [entries.authorities]: current.authorities,
    [entries.authorityKey]: current.authorityKey,
    [entries.certificate]: current.serving.certificate,
    [entries.key]: current.serving.key,
  };
  const encoded = Object.entries(data).map(([entry, text]) => [entry, Buffer.from(text).toString("base64")]);
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace },
    type: "Opaque",
    data: Object.fromEntries(encoded),
  };
}

const versionOf = ({ metadata: { uid = "", resourceVersion = "" } }: Resource) => ({ uid, resourceVersion });
