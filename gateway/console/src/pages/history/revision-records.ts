/** The revisions of the store, as `GET /revisions` returns them. */
import { encodedPath, read } from "../../api/client.ts";
import { viewOfCollection } from "../../api/collections.ts";
import { type ChangeSummary, type ListedChange, listedChanges, plannedEntityText } from "../../plans/change-plan.ts";

export interface RevisionRecord {
  readonly number: number;
  /** ISO 8601. */
  readonly time: string;
  readonly author: string;
  /** Null: the changes are not kept. */
  readonly counts: Readonly<Record<keyof ChangeSummary, number>> | null;
}

/** A revision with its changes, or the reason why they are not kept. */
export type RevisionDetails = RevisionRecord & Partial<ChangeSummary> & { readonly reason?: string };

export const readRevision = (number: number | string, signal?: AbortSignal): Promise<RevisionDetails> =>
  read(`revisions/${encodedPath(String(number))}`, signal);

/** Null: the changes are not kept. */
export const summaryIn = ({ created, changed, deleted }: RevisionDetails): ChangeSummary | null =>
  created && changed && deleted ? { created, changed, deleted } : null;

export function countsText({ counts }: RevisionRecord): string {
  if (counts === null) return "not kept";
  const parts = Object.entries(counts).filter(([, count]) => count > 0);
  return parts.length === 0 ? "none" : parts.map(([verb, count]) => `${count.toLocaleString("en")} ${verb}`).join(", ");
}

/** One change of one entity. */
export interface AuditEntry {
  readonly key: string;
  readonly revision: RevisionRecord;
  readonly change: "created" | "changed" | "deleted" | "not kept";
  readonly collection: string;
  readonly id: string;
  /** Kind and name. */
  readonly entity: string;
  /** The page of the entity; absent if it has none, or was deleted. */
  readonly at?: readonly string[];
  /** The names of the members, or why the change is not known. */
  readonly members: string;
}

/** The changes of revisions as a flat list. @param revisions Newest first. */
export function auditEntries(revisions: readonly RevisionDetails[]): readonly AuditEntry[] {
  const entries: AuditEntry[] = [];
  /** Whether each entity was deleted by its last change. */
  const isGone = new Map<string, boolean>();
  for (const revision of revisions) {
    const { number } = revision;
    const content = summaryIn(revision);
    if (!content) {
      const members = revision.reason ?? "";
      entries.push({ key: `${number}`, revision, change: "not kept", collection: "", id: "", entity: "", members });
      continue;
    }
    for (const one of listedChanges(content)) {
      const { change, entity } = one;
      const { collection, id } = entity;
      if (!isGone.has(id)) isGone.set(id, change === "deleted");
      const view = isGone.get(id) ? undefined : viewOfCollection(collection);
      entries.push({
        key: `${number} ${id}`,
        revision,
        change,
        collection,
        id,
        entity: plannedEntityText(entity),
        ...(view && { at: ["entities", view.path, id] }),
        members: memberNames(one).join(", "),
      });
    }
  }
  return entries;
}

function memberNames({ change, entity }: ListedChange): readonly string[] {
  if (change === "created") return Object.keys(entity.members);
  return change === "changed" ? entity.members.map(({ member }) => member) : [];
}
