/** Those who wait until what they wrote is served by every node (the words stand in @sluice/model, wait.ts). */
import { isSeen, type Kind, keyOf } from "@sluice/crds";
import type { WaitAnswer, WaitRequest, Written } from "@sluice/model";
import type { Acknowledgement } from "../publish/publisher.ts";
import type { WatchedKind, World } from "../world/world.ts";

export interface WaitingRoomOptions {
  readonly world: World;
  /** False while the document does not contain what the world holds: not synced, or a change not yet translated. */
  readonly upToDate: () => boolean;
  readonly revision: () => number;
  readonly acknowledgement: (revision: number) => Acknowledgement;
  readonly problemsOf: (kind: Kind, namespace: string, name: string) => WaitAnswer["problems"];
}

export interface WaitingRoom {
  wait(request: WaitRequest): Promise<WaitAnswer>;
  /** Something changed: the document, or what nodes run. Lets those go whose wait is over. */
  look(): void;
  readonly size: number;
  close(): void;
}

interface Waiter {
  readonly request: WaitRequest;
  /** The revision that contains what was written; unknown until the world holds it. */
  revision: number | null;
  readonly leave: (answer: WaitAnswer) => void;
}

export function createWaitingRoom(options: WaitingRoomOptions): WaitingRoom {
  const { world, upToDate, revision, acknowledgement, problemsOf } = options;
  const waiters = new Set<Waiter>();

  const inWorld = (written: Written) =>
    isSeen(world[written.kind as WatchedKind]?.get(keyOf(written.namespace, written.name)), written);

  function answer({ request, revision: wanted }: Waiter): WaitAnswer {
    const { programmed, ...nodes } = acknowledgement(wanted ?? Number.POSITIVE_INFINITY);
    const problems = request.resources.flatMap(({ kind, namespace, name, deleted }) =>
      deleted ? [] : problemsOf(kind as Kind, namespace, name),
    );
    return { programmed: programmed && problems.length === 0, revision: revision(), ...nodes, problems };
  }

  function over(waiter: Waiter): boolean {
    if (waiter.revision === null && upToDate() && waiter.request.resources.every(inWorld)) waiter.revision = revision();
    return waiter.revision !== null && acknowledgement(waiter.revision).programmed;
  }

  return {
    wait(request) {
      return new Promise((resolve) => {
        let timer: NodeJS.Timeout | undefined;
        const waiter: Waiter = {
          request,
          revision: null,
          leave(result) {
            clearTimeout(timer);
            waiters.delete(waiter);
            resolve(result);
          },
        };
        if (over(waiter)) return waiter.leave(answer(waiter));
        timer = setTimeout(() => waiter.leave(answer(waiter)), request.timeout ?? 5000);
        waiters.add(waiter);
      });
    },
    look() {
      for (const waiter of [...waiters]) if (over(waiter)) waiter.leave(answer(waiter));
    },
    get size() {
      return waiters.size;
    },
    close() {
      for (const waiter of [...waiters]) waiter.leave(answer(waiter));
    },
  };
}
