/** A plan as text for people. */
import { escapeControlCharacters } from "@sluice/model/serving";
import type { ChangePlan, PlanSummary } from "../../admin/plan/plan.ts";
import { styledText } from "../terminal/output.ts";

export function planText(plan: ChangePlan): string {
  const { created, changed, deleted, requests } = plan;
  const counts = `${created.length} to create, ${changed.length} to change, ${deleted.length} to delete`;
  const changes = differenceText(plan);
  return [changes, `${styledText("bold", `Plan: ${counts}.`)}\n`, requests && requestsText(requests)]
    .filter(Boolean)
    .join("\n");
}

/** Every entity that differs, with the members that differ. Empty without a difference. */
export function differenceText({ created, changed, deleted }: PlanSummary): string {
  const lines = [
    ...created.flatMap((entity) => [
      styledText("green", `+ ${labelOfChange(entity)}`),
      ...Object.entries(entity.members).map(([member, value]) => styledText("green", `+   ${member}: ${shown(value)}`)),
    ]),
    ...changed.flatMap((entity) => [
      styledText("yellow", `~ ${labelOfChange(entity)}`),
      ...entity.members.flatMap(({ member, before, after }) => [
        styledText("red", `-   ${member}: ${shown(before)}`),
        styledText("green", `+   ${member}: ${shown(after)}`),
      ]),
    ]),
    ...deleted.flatMap((entity) => [
      styledText("red", `- ${labelOfChange(entity)}`),
      ...entity.along.map((one) => styledText("red", `-   and with it ${labelOfChange(one)}`)),
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

/** Strings, such as bodies and certificates, may have line breaks. */
const shown = (value: unknown): string =>
  typeof value === "string" ? escapeControlCharacters(value) : JSON.stringify(value ?? null);

type PlannedRequests = NonNullable<ChangePlan["requests"]>;
type PlannedRequest = PlannedRequests["changed"][number];

const titles: Readonly<Record<PlannedRequest["kind"], string>> = {
  routed: "Sample requests that would be routed differently:",
  answered: "Sample requests that would be answered or forwarded differently:",
  handled: "Sample requests with the same answer, to which other plugins, limits or timeouts would apply:",
};

function requestsText({ sampled, changed, incomplete, left_out }: PlannedRequests): string {
  const more = [
    ...(incomplete ? ["There may be further requests that would be routed or answered differently.\n"] : []),
    ...(left_out.length > 0 ? ["\nNot in the samples:\n"] : []),
    ...left_out.map((sentence) => `  ${escapeControlCharacters(sentence)}\n`),
  ].join("");
  if (changed.length === 0) return `No request of ${sampled} samples would be routed or answered differently.\n${more}`;
  const sections = Object.entries(titles).flatMap(([kind, title]) => {
    const own = changed.filter((one) => one.kind === kind);
    return own.length === 0 ? [] : [`${styledText("bold", title)}\n${own.map(requestText).join("")}`];
  });
  return sections.join("\n") + more;
}

function requestText({ kind, request, before, after, differences, similar }: PlannedRequest): string {
  const { method, scheme, host, path, consumer } = request;
  const credentials = consumer === null ? "" : `, with credentials of ${consumer}`;
  const others = similar === 0 ? "" : `, and ${similar} similar ${similar === 1 ? "request" : "requests"}`;
  const route = kind === "routed" ? [{ about: "route", before: routeText(before), after: routeText(after) }] : [];
  return [
    `  ${method} ${scheme}://${host}${path}${credentials}${others}`,
    ...[...route, ...differences].map(
      ({ about, before: was, after: will }) =>
        `    ${about}: ${styledText("red", valueText(was))} -> ${styledText("green", valueText(will))}`,
    ),
  ]
    .map((line) => `${line}\n`)
    .join("");
}

const routeText = (match: PlannedRequest["before"]): string =>
  match === null
    ? "no route"
    : `${match.name ?? match.id}${match.service === null ? "" : ` (service ${match.service})`}`;

const valueText = (value: unknown): string => (value === null ? "none" : shown(value));
