/** The revisions of the store with their authors, and the changes of all revisions as one list. */
import { ApiError } from "../../api/client.ts";
import { loadPages, MAX_ENTITIES } from "../../api/load-entities.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { Link } from "../../app/navigation.tsx";
import { Notice } from "../../parts/notice.tsx";
import { AuditList } from "./audit-list.tsx";
import { RevisionList } from "./revision-list.tsx";
import type { RevisionRecord } from "./revision-records.ts";

const views = { revisions: "Revisions", changes: "Changes" } as const;
type HistoryView = keyof typeof views;

export function HistoryPage({ view }: { readonly view: HistoryView }) {
  const { data, error, failure } = useLoaded((signal) => loadPages<RevisionRecord>("revisions", { signal }), {
    key: "revisions",
  });
  return (
    <>
      <h1>History</h1>
      <nav class="tabs" aria-label="Views">
        <ul>
          {(Object.keys(views) as HistoryView[]).map((one) => (
            <li key={one}>
              <Link to={one === "revisions" ? ["history"] : ["history", one]} current={one === view}>
                {views[one]}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      {failure !== undefined && (
        <Notice kind={error instanceof ApiError && error.status === 501 ? "info" : "error"}>{failure}</Notice>
      )}
      {data?.isTruncated && (
        <Notice kind="warning">The console shows the newest {MAX_ENTITIES.toLocaleString("en")} revisions only.</Notice>
      )}
      {failure === undefined && !data && <p class="hint">Loading…</p>}
      {data && (view === "revisions" ? <RevisionList revisions={data.items} /> : <AuditList revisions={data.items} />)}
    </>
  );
}
