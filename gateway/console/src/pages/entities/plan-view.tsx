/** What a change would do, member by member, and which requests would be answered differently. */
import { formatValue, plural } from "../../parts/format.ts";
import { answeredBy, type PlanBody, plannedEntityText, plannedRequestText } from "./change-plan.ts";

/** Rerouted requests that are listed. */
const MAX_LISTED = 20;

export function PlanView({ plan }: { readonly plan: PlanBody }) {
  const { created, changed, deleted, requests } = plan;
  const isEmpty = created.length + changed.length + deleted.length === 0;
  return (
    <div class="plan">
      {isEmpty && <p>Nothing would change.</p>}
      {created.map((entity) => (
        <section key={entity.id} aria-label={`Creates ${plannedEntityText(entity)}`}>
          <h3>
            <span class="state good">creates</span> {plannedEntityText(entity)}
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
      {changed.map((entity) => (
        <section key={entity.id} aria-label={`Changes ${plannedEntityText(entity)}`}>
          <h3>
            <span class="state warning">changes</span> {plannedEntityText(entity)}
          </h3>
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">Field</th>
                <th scope="col">Before</th>
                <th scope="col">After</th>
              </tr>
            </thead>
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
      {deleted.map((entity) => (
        <section key={entity.id} aria-label={`Deletes ${plannedEntityText(entity)}`}>
          <h3>
            <span class="state bad">deletes</span> {plannedEntityText(entity)}
          </h3>
          {entity.along.length > 0 ? (
            <>
              <p>These are deleted with it:</p>
              <ul>
                {entity.along.map((one) => (
                  <li key={one.id}>{plannedEntityText(one)}</li>
                ))}
              </ul>
            </>
          ) : (
            <p>Nothing else is deleted with it.</p>
          )}
        </section>
      ))}
      {requests && <Rerouted requests={requests} />}
    </div>
  );
}

function Rerouted({
  requests: { sampled, changed, incomplete },
}: {
  readonly requests: NonNullable<PlanBody["requests"]>;
}) {
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
        <thead>
          <tr>
            <th scope="col">Request</th>
            <th scope="col">Now</th>
            <th scope="col">Then</th>
          </tr>
        </thead>
        <tbody>
          {changed.slice(0, MAX_LISTED).map(({ request, before, after }) => (
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
