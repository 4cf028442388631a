/** Changes, planned or made, member by member; of a plan also the requests that would be answered differently. */
import { useState } from "preact/hooks";
import { formatValue, plural } from "../parts/format.ts";
import { TableHead } from "../parts/table-head.tsx";
import {
  answeredBy,
  type ChangeSummary,
  hasChanges,
  type PlanBody,
  plannedEntityText,
  plannedRequestText,
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

function ChangedEntities({ changes: { created, changed, deleted }, verbs }: ChangedEntitiesProps) {
  const [listed, setListed] = useState(LISTED);
  const [first, second] = [listed - created.length, listed - created.length - changed.length];
  const more = created.length + changed.length + deleted.length - listed;
  return (
    <>
      {created.slice(0, listed).map((entity) => (
        <section key={entity.id}>
          <h3>
            <span class="state good">{verbs.created}</span> {plannedEntityText(entity)}
          </h3>
          <dl class="pairs">
            {Object.entries(entity.members).map(([member, value]) => (
              <div key={member}>
                <dt>{member}</dt>
                <dd>{formatValue(value)}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      {changed.slice(0, Math.max(0, first)).map((entity) => (
        <section key={entity.id}>
          <h3>
            <span class="state warning">{verbs.changed}</span> {plannedEntityText(entity)}
          </h3>
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
        </section>
      ))}
      {deleted.slice(0, Math.max(0, second)).map((entity) => (
        <section key={entity.id}>
          <h3>
            <span class="state bad">{verbs.deleted}</span> {plannedEntityText(entity)}
          </h3>
          {entity.along.length > 0 && (
            <>
              <p>These are deleted with it:</p>
              <ul>
                {entity.along.map((one) => (
                  <li key={one.id}>{plannedEntityText(one)}</li>
                ))}
              </ul>
            </>
          )}
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
