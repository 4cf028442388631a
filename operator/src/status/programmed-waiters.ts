/**
 * Clients that wait until every node serves the resources that they wrote (the protocol is described in @sluice/model,
 * wait.ts).
 */
import { type Kind, namespacedName, reflectsWrite } from "@sluice/crds";
import type { WaitRequest, WaitResponse, WrittenResource } from "@sluice/model";
import type { Acknowledgement } from "../publish/publisher.ts";
import type { ClusterState, WatchedKind } from "../watch/cluster-state.ts";

export interface ProgrammedWaitersOptions {
  readonly clusterState: ClusterState;
  /** Whether the document contains all changes of the cluster; false while some are not synced or not translated. */
  readonly isUpToDate: () => boolean;
  readonly revision: () => number;
  readonly acknowledgement: (revision: number) => Acknowledgement;
  readonly problemsOf: (kind: Kind, namespace: string, name: string) => WaitResponse["problems"];
}

interface Waiter {
  readonly request: WaitRequest;
  /** The first known revision with all writes of the request; null until they have been read and translated. */
  revision: number | null;
  readonly resolve: (answer: WaitResponse) => void;
}

export function createProgrammedWaiters(options: ProgrammedWaitersOptions) {
  const { clusterState, isUpToDate, revision, acknowledgement, problemsOf } = options;
  const waiters = new Set<Waiter>();

  const isObserved = (written: WrittenResource) =>
    reflectsWrite(
      clusterState[written.kind as WatchedKind]?.get(namespacedName(written.namespace, written.name)),
      written,
    );

  function answer({ request, revision: wanted }: Waiter): WaitResponse {
    const { programmed, ...nodes } = acknowledgement(wanted ?? Number.POSITIVE_INFINITY);
    const problems = request.resources.flatMap(({ kind, namespace, name, deleted }) =>
      deleted ? [] : problemsOf(kind as Kind, namespace, name),
    );
    return { programmed: programmed && problems.length === 0, revision: revision(), ...nodes, problems };
  }

  function isProgrammed(waiter: Waiter): boolean {
    if (waiter.revision === null && isUpToDate() && waiter.request.resources.every(isObserved))
      waiter.revision = revision();
    return waiter.revision !== null && acknowledgement(waiter.revision).programmed;
  }

  return {
    wait(request: WaitRequest): Promise<WaitResponse> {
      return new Promise((resolve) => {
        let timer: NodeJS.Timeout | undefined;
        const waiter: Waiter = {
          request,
          revision: null,
          resolve(result) {
            clearTimeout(timer);
            waiters.delete(waiter);
            resolve(result);
          },
        };
        if (isProgrammed(waiter)) return waiter.resolve(answer(waiter));
        timer = setTimeout(() => waiter.resolve(answer(waiter)), request.timeout ?? 5000);
        waiters.add(waiter);
      });
    },
    /** Resolves the waits that are over. Called when the document or the nodes' acknowledgements have changed. */
    resolveReady() {
      for (const waiter of [...waiters]) if (isProgrammed(waiter)) waiter.resolve(answer(waiter));
    },
    get size() {
      return waiters.size;
    },
    close() {
      for (const waiter of [...waiters]) waiter.resolve(answer(waiter));
    },
  };
}

export type ProgrammedWaiters = ReturnType<typeof createProgrammedWaiters>;
