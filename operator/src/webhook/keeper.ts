/**
 * Keeps the webhook's certificate: in a Secret that all replicas of the operator share, its authority in the
 * ValidatingWebhookConfiguration, whose address also says what names the certificate is for. Everything is looked at
 * again every minute, whoever changed it.
 */
import type { ClusterObject, ClusterObjects, Resource, ResourceClient } from "@sluice/crds";
import type { Logger } from "pino";
import type { Pair } from "../certificates/authority.ts";
import { type Issued, type Plan, renewed } from "../certificates/issued.ts";
import { lookAgain } from "../certificates/look-again.ts";
import { asFound, secretOf, textIn } from "../certificates/secret.ts";

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

/** Replicas, and the API server with them, look once a minute. */
const OVERLAP = 10 * 60_000;

/** Runs until the signal aborts; never rejects. */
export async function keepCertificate(options: KeeperOptions): Promise<void> {
  const { signal, log, show, interval = 60_000 } = options;
  let shown: string | undefined;
  await lookAgain({
    async attempt() {
      const { serving } = (await look(options)).certificates;
      if (serving.certificate !== shown) {
        show(serving);
        shown = serving.certificate;
        log.info("the webhook has a certificate");
      }
      return interval;
    },
    trouble: "the webhook's certificate cannot be kept",
    retry: interval / 10,
    log,
    signal,
  });
}

/** One look: the certificate that is to be shown, with what it needs written. */
async function look(options: KeeperOptions): Promise<Issued<"serving">> {
  const { client, objects, configuration, secret, manager, now = () => new Date() } = options;
  const found = await objects.get(KIND, configuration);
  if (!found)
    throw new Error(`there is no ValidatingWebhookConfiguration ${configuration}: nothing is checked at apply`);
  const plan: Plan<"serving"> = {
    authority: "sluice webhook authority",
    certificates: { serving: { names: namesOf(found), usage: "server" } },
    overlap: OVERLAP,
  };
  const resource = await client.get({ kind: "Secret", ...secret });
  const stored = resource && storedIn(resource);
  const current = await renewed(stored, plan, { now: now() });
  if (current !== stored)
    await client.apply("Secret", asSecret(current, secret), { manager, force: true, expect: asFound(resource) });
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

const entries = { authorities: "ca.crt", authorityKeys: "ca.key", certificate: "tls.crt", key: "tls.key" } as const;

function storedIn(resource: Resource): Issued<"serving"> {
  const text = (entry: keyof typeof entries) => textIn(resource, entries[entry]);
  return {
    authorities: text("authorities"),
    authorityKeys: text("authorityKeys"),
    certificates: { serving: { certificate: text("certificate"), key: text("key") } },
  };
}

const asSecret = ({ authorities, authorityKeys, certificates }: Issued<"serving">, place: KeeperOptions["secret"]) =>
  secretOf(place, {
    [entries.authorities]: authorities,
    [entries.authorityKeys]: authorityKeys,
    [entries.certificate]: certificates.serving.certificate,
    [entries.key]: certificates.serving.key,
  });
