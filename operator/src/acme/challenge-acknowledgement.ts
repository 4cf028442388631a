/** Waits until all nodes have acknowledged a document with the answers to challenges. */
import { rejectOnAbort } from "@sluice/crds";
import type { AcmeChallenge } from "@sluice/model";
import type { PublishStage } from "../publish/publish-stage.ts";

export interface ChallengeAcknowledgementOptions {
  readonly publish: Pick<PublishStage, "progress"> & {
    readonly publisher: Pick<PublishStage["publisher"], "acknowledgement">;
  };
  /** Milliseconds until the wait fails. Default 60,000. */
  readonly timeout?: number;
}

interface Wait {
  readonly id: string;
  readonly challenges: readonly AcmeChallenge[];
  /** The first published revision with the challenges; null: none yet. */
  revision: number | null;
  readonly resolve: () => void;
}

export function createChallengeAcknowledgement({ publish, timeout = 60_000 }: ChallengeAcknowledgementOptions) {
  const waits = new Set<Wait>();
  let latest:
    | { readonly challengesOf: (id: string) => readonly AcmeChallenge[] | undefined; readonly revision: number }
    | undefined;

  publish.progress.subscribe((published) => {
    if (published) {
      const { certificates } = published.document.built.snapshot;
      latest = { challengesOf: (id) => certificates.get(id)?._sluice?.challenges, revision: published.revision };
    }
    for (const wait of waits) check(wait);
  });

  function check(wait: Wait): void {
    if (latest && wait.revision === null && hasChallenges(latest.challengesOf(wait.id), wait.challenges))
      wait.revision = latest.revision;
    if (wait.revision === null || !publish.publisher.acknowledgement(wait.revision).programmed) return;
    waits.delete(wait);
    wait.resolve();
  }

  function describe({ revision }: Wait): string {
    const { lagging, silent } = publish.publisher.acknowledgement(revision ?? Number.POSITIVE_INFINITY);
    const late = [...lagging, ...silent];
    return late.length === 0 ? "no node is ready" : `these nodes have not: ${late.slice(0, 10).join(", ")}`;
  }

  return {
    /**
     * Resolves when every node that answers has acknowledged a document with these challenges of the certificate.
     * Rejects after the timeout with a sentence that names the nodes, and when the signal aborts.
     */
    async wait(id: string, challenges: readonly AcmeChallenge[], signal: AbortSignal): Promise<void> {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const wait: Wait = { id, challenges, revision: null, resolve };
      const timer = setTimeout(() => {
        const seconds = timeout / 1000;
        reject(
          new Error(`not all nodes have received the answers to the challenges within ${seconds} s: ${describe(wait)}`),
        );
      }, timeout);
      waits.add(wait);
      check(wait);
      try {
        await rejectOnAbort(promise, signal);
      } finally {
        clearTimeout(timer);
        waits.delete(wait);
      }
    },
  };
}

export type ChallengeAcknowledgement = ReturnType<typeof createChallengeAcknowledgement>;

const hasChallenges = (found: readonly AcmeChallenge[] = [], wanted: readonly AcmeChallenge[]): boolean =>
  wanted.every((one) =>
    found.some((other) => Object.entries(one).every(([member, value]) => Reflect.get(other, member) === value)),
  );
