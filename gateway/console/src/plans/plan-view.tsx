/** Changes, planned or made, member by member. For a plan, also the requests that would be answered differently. */
import { useState } from "preact/hooks";
import { countWithNoun, formatValue } from "../parts/format.ts";
import { TableHead } from "../parts/table-head.tsx";
import {
  type ChangedRequestBody,
  type ChangeSummary,
  changeTones,
  differencesOf,
  hasChanges,
  type ListedChange,
  listedChanges,
  type PlanBody,
  plannedEntityText,
  plannedRequestText,
} from "./change-plan.ts";

/** Entities, and changed requests, that are listed at first: a rollback may have thousands. */
const LISTED = 50;
const LISTED_REQUESTS = 20;

export function PlanView({ plan }: { readonly plan: PlanBody }) {
  return (
    <div class="plan">
      {!hasChanges(plan) && <p>Nothing would change.</p>}
      <ChangedEntities changes={plan} verbs={{ created: "creates", changed: "changes", deleted: "deletes" }} />
      {plan.requests && <ChangedRequests requests={plan.requests} />}
    </div>
  );
}

/** Changes that were made. */
export const RevisionView = ({ changes }: { readonly changes: ChangeSummary }) => (
  <section class="plan" aria-labelledby="changes">
    <h2 id="changes">Changes</h2>
    {!hasChanges(changes) && <p>No entity differs.</p>}
    <ChangedEntities changes={changes} verbs={{ created: "created", changed: "changed", deleted: "deleted" }} />
  </section>
);

interface ChangedEntitiesProps {
  readonly changes: ChangeSummary;
  readonly verbs: Readonly<Record<keyof ChangeSummary, string>>;
}

function ChangedEntities({ changes, verbs }: ChangedEntitiesProps) {
  const [listed, setListed] = useState(LISTED);
  const all = listedChanges(changes);
  const more = all.length - listed;
  return (
    <>
      {all.slice(0, listed).map((one) => (
        <section key={`${one.change} ${one.entity.id}`}>
          <h3>
            <span class={`state ${changeTones[one.change]}`}>{verbs[one.change]}</span> {plannedEntityText(one.entity)}
          </h3>
          <ChangeDetails {...one} />
        </section>
      ))}
      {more > 0 && (
        <p>
          <button type="button" onClick={() => setListed(listed + LISTED)}>
            Show more
          </button>{" "}
          <span class="hint">{countWithNoun(more, "more entity", "more entities")}</span>
        </p>
      )}
    </>
  );
}

function ChangeDetails({ change, entity }: ListedChange) {
  if (change === "created") {
    return (
      <dl class="pairs">
        {Object.entries(entity.members).map(([member, value]) => (
          <div key={member}>
            <dt>{member}</dt>
            <dd>{formatValue(value)}</dd>
          </div>
        ))}
      </dl>
    );
  }
  if (change === "changed") {
    return (
      <table class="plain">
        <TableHead titles={["Field", "Before", "After"]} />
        <tbody>
          {entity.members.map(({ member, before, after }) => (
            <tr key={member}>
              <th scope="row">{member}</th>
              <td>
                <del>{formatValue(before)}</del>
              </td>
              <td>
                <ins>{formatValue(after)}</ins>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    );
  }
  if (entity.along.length === 0) return null;
  return (
    <>
      <p>These are deleted with it:</p>
      <ul>
        {entity.along.map((one) => (
          <li key={one.id}>{plannedEntityText(one)}</li>
        ))}
      </ul>
    </>
  );
}

interface ChangedRequestsProps {
  readonly requests: NonNullable<PlanBody["requests"]>;
}

const headings: Readonly<Record<ChangedRequestBody["kind"], string>> = {
  routed: "Sample requests that would get another route",
  answered: "Sample requests that would be answered or forwarded differently",
  handled: "Sample requests with the same answer, to which other plugins, limits or timeouts would apply",
};

const kinds = ["routed", "answered", "handled"] as const;

function ChangedRequests({ requests: { sampled, changed, incomplete, left_out } }: ChangedRequestsProps) {
  if (changed.length === 0) {
    return (
      <>
        <p class="hint">
          {sampled === 0
            ? "No sample request could be made from the routes."
            : `None of ${countWithNoun(sampled, "sample request")} would be routed or answered differently.`}
        </p>
        <LeftOut sentences={left_out} />
      </>
    );
  }
  return (
    <section aria-label="Requests that would be routed or answered differently">
      {kinds.map((kind) => (
        <RequestsOfKind key={kind} heading={headings[kind]} requests={changed.filter((one) => one.kind === kind)} />
      ))}
      {incomplete && <p class="hint">There may be further requests: not all were examined, or not all are listed.</p>}
      <LeftOut sentences={left_out} />
    </section>
  );
}

interface LeftOutProps {
  readonly sentences: readonly string[];
}

function LeftOut({ sentences }: LeftOutProps) {
  if (sentences.length === 0) return null;
  return (
    <>
      <p class="hint">Not in the samples:</p>
      <ul class="hint">
        {sentences.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
    </>
  );
}

interface RequestsOfKindProps {
  readonly heading: string;
  readonly requests: readonly ChangedRequestBody[];
}

function RequestsOfKind({ heading, requests }: RequestsOfKindProps) {
  if (requests.length === 0) return null;
  return (
    <>
      <h3>{heading}</h3>
      <table class="plain">
        <TableHead titles={["Request", "Difference", "Now", "Then"]} />
        {requests.slice(0, LISTED_REQUESTS).map((one) => (
          <ChangedRequest key={plannedRequestText(one.request)} {...one} />
        ))}
      </table>
    </>
  );
}

function ChangedRequest(changed: ChangedRequestBody) {
  const { request, similar } = changed;
  const differences = differencesOf(changed);
  return (
    <tbody>
      {differences.map(({ about, before, after }, at) => (
        <tr key={about}>
          {at === 0 && (
            <th scope="rowgroup" rowSpan={differences.length} class="mono">
              {plannedRequestText(request)}
              {similar > 0 && <span class="hint"> and {countWithNoun(similar, "similar request")}</span>}
            </th>
          )}
          <td>{about}</td>
          <td>{before}</td>
          <td>{after}</td>
        </tr>
      ))}
    </tbody>
  );
}
