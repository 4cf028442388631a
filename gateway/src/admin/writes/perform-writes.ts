/** Carries out prepared writes, or only plans them. */
import type { Effect, Store, WriteOutcome } from "../../stores/store.ts";
import { type HttpError, writeFaultError } from "../http/errors.ts";
import type { PreparedWrite } from "../requests.ts";

type WriteStep = Omit<PreparedWrite, "respond">;

export interface PerformWritesOptions {
  /** Whether the store also changes fields that other field managers own. */
  readonly force: boolean;
  readonly plan: boolean;
  /** The author of the revision. */
  readonly author: string;
  /** Whether the writes together replace the whole document; see `StoreWriteOptions`. Default: false. */
  readonly whole?: boolean;
}

/** Maximum attempts if other clients are faster. */
const ATTEMPTS = 24;

/**
 * Prepares writes, and carries out (or only plans) all or none of them. Prepares them again from the current state if
 * another client was faster, or if a new id is in use. Returns the prepared steps, and the effects of each step.
 *
 * @param workOut Called with the ids that the store reported as in use.
 * @param mapError Maps the error of one write to the error of the whole request.
 * @throws HttpError.
 */
export async function performWrites<One extends WriteStep>(
  store: Store,
  workOut: (taken: ReadonlySet<string>) => Promise<readonly One[]>,
  {
    mapError = (error) => error,
    ...options
  }: PerformWritesOptions & { readonly mapError?: (error: HttpError, step: One) => HttpError },
) {
  const taken = new Set<string>();
  for (let attempt = 1; ; attempt++) {
    const steps = await workOut(taken);
    const writes = steps.flatMap((step) => step.writes);
    const outcome: WriteOutcome = writes.length === 0 ? { effects: [] } : await store.write(writes, options);
    if (!outcome.fault) {
      const effects = distribute(steps, outcome.effects);
      return { steps, effects, ...(outcome.programmed && { programmed: outcome.programmed }) };
    }
    const { fault, index } = outcome;
    const step = steps.flatMap((one) => one.writes.map(() => one))[index];
    if (!step) throw new TypeError(`the store reports a fault of write ${index} of ${writes.length}`);
    if (fault.kind === "primary-key") taken.add(fault.id);
    if (attempt < ATTEMPTS && (await step.isRetryable(fault))) continue;
    throw mapError(writeFaultError(fault, step.attempt), step);
  }
}

function distribute(steps: readonly WriteStep[], effects: readonly Effect[]): readonly (readonly Effect[])[] {
  const rest = [...effects];
  return steps.map(({ writes }) => rest.splice(0, writes.length));
}
