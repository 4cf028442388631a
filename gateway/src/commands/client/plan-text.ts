/** A plan as text for people. */
import type { ChangePlan, PlanSummary } from "../../admin/plan/plan.ts";
import { formatTable, styled } from "../terminal/output.ts";

export function planText(plan: ChangePlan): string {
  const { created, changed, deleted, requests } = plan;
  const counts = `${created.length} to create, ${changed.length} to change, ${deleted.length} to delete`;
  const changes = differenceText(plan);
  return [changes, `${styled("bold", `Plan: ${counts}.`)}\n`, requests && requestsText(requests)]
    .filter(Boolean)
    .join("\n");
}

/** Every entity that differs, with the members that differ. Empty without a difference. */
export function differenceText({ created, changed, deleted }: PlanSummary): string {
  const lines = [
    ...created.flatMap((entity) => [
      styled("green", `+ ${labelOfChange(entity)}`),
      ...Object.entries(entity.members).map(([member, value]) => styled("green", `+   ${member}: ${shown(value)}`)),
    ]),
    ...changed.flatMap((entity) => [
      styled("yellow", `~ ${labelOfChange(entity)}`),
      ...entity.members.flatMap(({ member, before, after }) => [
        styled("red", `-   ${member}: ${shown(before)}`),
        styled("green", `+   ${member}: ${shown(after)}`),
      ]),
    ]),
    ...deleted.flatMap((entity) => [
      styled("red", `- ${labelOfChange(entity)}`),
      ...entity.along.map((one) => styled("red", `-   and with it ${labelOfChange(one)}`)),
    ]),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

/** `2 created, 0 changed, 1 deleted` */
export const doneText = ({ created, changed, deleted }: PlanSummary): string =>
  `${created.length} created, ${changed.length} changed, ${deleted.length} deleted`;

export const hasNoChanges = ({ created, changed, deleted }: PlanSummary): boolean =>
  created.length + changed.length + deleted.length === 0;

export const labelOfChange = ({
  collection,
  id,
  name,
}: {
  readonly collection: string;
  readonly id: string;
  readonly name: string | null;
}) => `${collection}/${name ?? id}`;

const shown = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value ?? null));

function requestsText({ sampled, changed, incomplete }: NonNullable<ChangePlan["requests"]>): string {
  const more = incomplete ? "There may be further requests that would be routed differently.\n" : "";
  if (changed.length === 0)
    return `No request of ${sampled} samples would be routed differently. ${more}`.trimEnd().concat("\n");
  const routed = (match: (typeof changed)[number]["before"]) =>
    match === null
      ? "no route"
      : `${match.name ?? match.id}${match.service === null ? "" : ` (service ${match.service})`}`;
  const rows = changed.map(({ request: { method, scheme, host, path }, before, after }) => [
    `${method} ${scheme}://${host}${path}`,
    routed(before),
    routed(after),
  ]);
  return `${styled("bold", `Of ${sampled} sample requests, these would be routed differently:`)}\n${formatTable([["REQUEST", "BEFORE", "AFTER"], ...rows])}${more}`;
}
