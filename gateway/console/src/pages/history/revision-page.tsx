/** The changes of one revision or between two, and the button that restores a revision. */
import { useState } from "preact/hooks";
import { encodedPath, read } from "../../api/client.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { announceToReader } from "../../app/announcer.tsx";
import { Link } from "../../app/navigation.tsx";
import { useConsoleSession } from "../../app/session.ts";
import { formatTime } from "../../parts/format.ts";
import { Notice } from "../../parts/notice.tsx";
import type { ChangeSummary } from "../../plans/change-plan.ts";
import { RevisionView } from "../../plans/plan-view.tsx";
import { PlannedButton } from "../../plans/planned-button.tsx";
import type { WriteResult } from "../../plans/write.ts";
import { readRevision, summaryIn } from "./revision-records.ts";

const BackToHistory = () => (
  <p class="back">
    <Link to={["history"]}>History</Link>
  </p>
);

export function SingleRevisionPage({ number }: { readonly number: string }) {
  const { canWrite } = useConsoleSession();
  const [restored, setRestored] = useState<WriteResult>();
  const { data, failure } = useLoaded((signal) => readRevision(number, signal), { key: number });
  const changes = data && summaryIn(data);
  return (
    <>
      <BackToHistory />
      <h1>
        <span class="kicker">revision</span> {number}
      </h1>
      {failure !== undefined && <Notice kind="error">{failure}</Notice>}
      {restored && (
        <Notice kind={restored.isServed ? "good" : "warning"}>
          The state of revision {number} is restored. {restored.served}
        </Notice>
      )}
      {data && (
        <>
          <p class="lead">
            {formatTime(Date.parse(data.time))} UTC, by {data.author}
          </p>
          {changes ? <RevisionView changes={changes} /> : <Notice kind="warning">{data.reason}</Notice>}
          <section aria-labelledby="present">
            <h2 id="present">Since then</h2>
            <p class="actions">
              <Link to={["history", "now"]} query={{ since: number }} class="button">
                Compare with the present state
              </Link>
              {canWrite && (
                <PlannedButton
                  label="Restore this state…"
                  write={{ method: "POST", path: `revisions/${encodedPath(number)}/rollback` }}
                  title={`Restore the state of revision ${number}?`}
                  confirm="Restore"
                  cancel="Keep the present state"
                  onDone={(result) => {
                    setRestored(result);
                    announceToReader(`The state of revision ${number} is restored.`);
                    scrollTo(0, 0);
                  }}
                />
              )}
            </p>
          </section>
        </>
      )}
    </>
  );
}

interface ComparisonPageProps {
  readonly since: string;
  /** A number, or "now" for the present state. */
  readonly number: string;
}

export function ComparisonPage({ since, number }: ComparisonPageProps) {
  const path =
    number === "now"
      ? `revisions/${encodedPath(since)}/difference`
      : `revisions/${encodedPath(number)}/difference?since=${encodeURIComponent(since)}`;
  const { data, failure } = useLoaded((signal) => read<ChangeSummary>(path, signal), { key: path });
  return (
    <>
      <BackToHistory />
      <h1>
        <span class="kicker">from revision {since} to</span> {number === "now" ? "the present state" : number}
      </h1>
      {failure !== undefined && <Notice kind="error">{failure}</Notice>}
      {data && <RevisionView changes={data} />}
    </>
  );
}
