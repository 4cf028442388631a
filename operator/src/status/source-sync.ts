/**
 * Decides when the statuses of sources of derived resources have to be synced: after a document with their current
 * version was made, and again when every ready node serves it.
 */
import type { TranslateStage } from "../document/translate-stage.ts";
import type { PublishStage } from "../publish/publish-stage.ts";
import type { PublishGate } from "../saved-state/publish-gate.ts";

export interface SourceSyncOptions {
  readonly translate: Pick<TranslateStage, "upToDate">;
  readonly publish: Pick<PublishStage, "progress" | "publisher">;
  readonly gate: Pick<PublishGate, "term" | "terms">;
  /** All sources; they are marked when this operator begins to lead. */
  readonly all: () => Iterable<string>;
  /** Called once a document with the current version of the source was made. */
  readonly onTranslated: (key: string) => void;
  /** Called once every ready node serves this document. */
  readonly onProgrammed: (key: string) => void;
}

/** Milliseconds between syncs of sources whose status could not be written. */
const RESYNC_INTERVAL = 5000;

export function createSourceSync({ translate, publish, gate, all, ...callbacks }: SourceSyncOptions) {
  const { publisher } = publish;
  /** The sources that may have to be synced, with the revision that has them; null: it is not known yet. */
  const unsettled = new Map<string, number | null>();
  const resync = setInterval(sync, RESYNC_INTERVAL).unref();
  let closed = false;

  publish.progress.subscribe(sync);
  gate.terms.subscribe((term) => {
    if (term === null) return;
    mark(all());
    sync();
  });

  function mark(keys: Iterable<string>): void {
    for (const key of keys) unsettled.set(key, null);
  }

  function sync(): void {
    if (closed || gate.term() === null || unsettled.size === 0) return;
    for (const [key, known] of unsettled) {
      const revision = known ?? revisionNow();
      if (revision === null) continue;
      unsettled.set(key, revision);
      if (known === null) callbacks.onTranslated(key);
      if (!publisher.acknowledgement(revision).programmed) continue;
      unsettled.delete(key);
      callbacks.onProgrammed(key);
    }
  }

  /** The revision that has all sources; null: a change was not translated yet. */
  const revisionNow = (): number | null => (translate.upToDate() ? publisher.revision() : null);

  return {
    mark,
    sync,
    close() {
      closed = true;
      clearInterval(resync);
    },
  };
}
