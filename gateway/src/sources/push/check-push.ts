/** Checks a push, from the operator or from the journal. */
import {
  applyChange,
  applyDocument,
  type Checked,
  checkChange,
  checkFlatDocument,
  type PushChange,
  type PushDocument,
  type Snapshot,
} from "@sluice/model";
import { READ_NEWER } from "../source.ts";

/** Makes the next snapshot; "stale": the change is based on a snapshot other than the given one. */
export type PushEffect = (previous: Snapshot) => Checked<Snapshot> | "stale";

export function checkPush(push: PushDocument | PushChange): Checked<PushEffect> {
  if ("document" in push) {
    const { violations, value } = checkFlatDocument(push.document);
    return violations ? { violations } : { value: (previous) => applyDocument(previous, value, READ_NEWER) };
  }
  const { violations, value } = checkChange(push.change);
  if (violations) return { violations };
  return { value: (previous) => (previous.hash === push.base ? applyChange(previous, value, READ_NEWER) : "stale") };
}
