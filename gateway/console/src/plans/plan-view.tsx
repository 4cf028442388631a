/** Changes, planned or made, member by member. For a plan, also the requests that would be answered differently. */
import { useState } from "preact/hooks";
import { formatValue, plural } from "../parts/format.ts";
import { TableHead } from "../parts/table-head.tsx";
import {
  answeredBy,
  type ChangeSummary,
  changesIn,
  hasChanges,
  type ListedChange,
  type PlanBody,
  plannedEntityText,
  plannedRequestText,
  toneOfChange,
} from "./change-plan.ts";

/** Entities, and rerouted requests, that are listed at first: a rollback may have thousands. */
const LISTED = 50;
const LISTED_REQUESTS = 20;

export function PlanView({ plan }: { readonly plan: PlanBody }) {
  return (
    <div class="plan">
      {!hasChanges(plan) && <p>Nothing would change.</p>}
      <ChangedEntities changes={plan} verbs={{ created: "creates", changed: "changes", deleted: "deletes" }} />
      {plan.requests && <Rerouted requests={plan.requests} />}
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
  const all = changesIn(changes);
  const more = all.length - listed;
  return (
    <>
      {all.slice(0, listed).map((one) => (
        <section key={`${one.change} ${one.entity.id}`}>
          <h3>
            <span class={`state ${toneOfChange[one.change]}`}>{verbs[one.change]}</span> {plannedEntityText(one.entity)}
          </h3>
          <ChangeDetails {...one} />
        </section>
      ))}
      {more > 0 && (
        <p>
          <button type="button" onClick={() => setListed(listed + LISTED)}>
            Show more
          </button>{" "}
          <span class="hint">{plural(more, "more entity", "more entities")}</span>
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

interface ReroutedProps {
  readonly requests: NonNullable<PlanBody["requests"]>;
}

function Rerouted({ requests: { sampled, changed, incomplete } }: ReroutedProps) {
  if (changed.length === 0) {
    return (
      <p class="hint">
        {sampled === 0
          ? "No sample request could be made from the routes."
          : `None of ${plural(sampled, "sample request")} would be answered by another route.`}
      </p>
    );
  }
  return (
    <section aria-label="Requests with another route">
      <h3>
        {plural(changed.length, "sample request")} of {sampled.toLocaleString("en")} would get another route
        {incomplete && ", and maybe more"}
      </h3>
      <table class="plain">
        <TableHead titles={["Request", "Now", "Then"]} />
        <tbody>
          {changed.slice(0, LISTED_REQUESTS).map(({ request, before, after }) => (
            <tr key={plannedRequestText(request)}>
              <th scope="row" class="mono">
                {plannedRequestText(request)}
              </th>
              <td>{answeredBy(before)}</td>
              <td>{answeredBy(after)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
