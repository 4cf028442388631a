/**
 * Secrets that only the operator reads: the push authority, the webhook's certificate and the encryption key of the
 * saved state. They belong in a namespace in which the admin API has no rights, because RBAC cannot exclude a Secret by
 * name from a role that may list Secrets. Version 0.1 kept them in the home namespace: they are read there until the
 * leader has moved them.
 */
import type { Ref, ResourceClient, StateBackend } from "@sluice/crds";
import type { Logger } from "pino";
import { abortableDelay } from "./abortable-delay.ts";
import { authoritySecretName, secretEntry, writeSecret } from "./certificates/certificate-secret.ts";
import type { OperatorSettings } from "./settings.ts";
import { ownObjectName } from "./start-checks.ts";

type Client = Pick<ResourceClient, "get" | "apply" | "remove">;

export interface MovePrivateSecretsOptions {
  readonly client: Client;
  readonly store: Pick<StateBackend, "key"> | undefined;
  readonly manager: string;
  readonly leads: () => boolean;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly signal: AbortSignal;
  /** Milliseconds between two attempts. Default 1000. */
  readonly interval?: number;
}

export function privateSecretsOf(settings: OperatorSettings) {
  const { homeNamespace, privateNamespace, pushSecret, webhookListen, webhookName, directory } = settings;
  const namespace = privateNamespace ?? homeNamespace;
  const key = savedStateName(settings);
  const certificates = [
    ...(pushSecret === null ? [] : [authoritySecretName(pushSecret)]),
    ...(webhookListen === null ? [] : [webhookName]),
  ];
  let moved = namespace === homeNamespace || directory !== null;
  let moving: Promise<void> | undefined;

  async function moveAll({ client, store, manager, log }: MovePrivateSecretsOptions): Promise<void> {
    const at = (place: string, name: string): Ref => ({ kind: "Secret", namespace: place, name });
    // The store itself copies the encryption key: RBAC lets the operator create that Secret, but not patch it.
    await store?.key();
    for (const name of [...certificates, key]) {
      const old = await client.get(at(homeNamespace, name));
      if (!old) continue;
      if (name !== key && !(await client.get(at(namespace, name)))) {
        const texts = Object.fromEntries(Object.keys(old.data ?? {}).map((entry) => [entry, secretEntry(old, entry)]));
        await writeSecret({ namespace, name }, { client, manager, found: null, texts });
      }
      const { uid } = old.metadata;
      await client.remove(at(homeNamespace, name), uid === undefined ? {} : { uid });
      log.info({ secret: name, from: homeNamespace, to: namespace }, "moved a Secret of the operator");
    }
  }

  async function moveWithRetries(options: MovePrivateSecretsOptions): Promise<void> {
    const { leads, log, signal, interval = 1000 } = options;
    let lastError = "";
    while (!moved && leads() && !signal.aborted) {
      try {
        await moveAll(options);
        moved = true;
      } catch (error) {
        const { message } = error as Error;
        if (message !== lastError && !signal.aborted)
          log.warn({ reason: message }, "cannot move the operator's Secrets out of the home namespace");
        lastError = message;
        await abortableDelay(interval, signal);
      }
    }
  }

  return {
    namespace,
    /** A client that also looks for the certificates' Secrets in the home namespace until they have been moved. */
    reading: (client: Client) => ({
      apply: client.apply,
      async get(ref: Ref) {
        const found = await client.get(ref);
        const isOld = !found && !moved && ref.namespace === namespace && certificates.includes(ref.name);
        return isOld ? client.get({ ...ref, namespace: homeNamespace }) : found;
      },
    }),
    /** Whether no private Secret is left in the home namespace, as far as this operator knows. */
    isMoved: () => moved,
    /** Moves the private Secrets while this operator leads. Called whenever it begins to lead. Never rejects. */
    move(options: MovePrivateSecretsOptions) {
      moving ??= moveWithRetries(options).finally(() => {
        moving = undefined;
      });
      return moving;
    },
  };
}

export type PrivateSecrets = ReturnType<typeof privateSecretsOf>;

/** The name that the Secret with the encryption key and the manifest of the saved state have in common. */
export const savedStateName = (settings: OperatorSettings): string => `${ownObjectName(settings)}-document`;
