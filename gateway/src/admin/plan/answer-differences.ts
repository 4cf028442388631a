/** The differences between two explanations of one request: before and after planned writes. */
import { canonicalJson, type EntityName, type Explanation, entityNameOf } from "@sluice/model";
import type { Runtime } from "../../compile/runtime.ts";
import type { ExplainedResult } from "../../explain/explain.ts";
import { pluginScopeText } from "../../explain/explained-plugins.ts";
import { changesBetween } from "./member-changes.ts";

/**
 * `routed`: another route or service gets the request. `answered`: the gateway's own answer, or the request that the
 * upstream gets, differs. `handled`: only the plugins, limits or timeouts that apply to the request differ.
 */
export type DifferenceKind = "routed" | "answered" | "handled";

export interface AnswerDifference {
  readonly kind: Exclude<DifferenceKind, "routed">;
  /** What differs, such as `answer`, `plugin cors` or `service shop: read_timeout`. */
  readonly about: string;
  /** Null: there is none. So it is with a plugin that does not apply. */
  readonly before: unknown;
  readonly after: unknown;
}

export interface ExplainedIn {
  readonly runtime: Runtime;
  readonly result: ExplainedResult;
}

export const answerDifferences = (before: ExplainedIn, after: ExplainedIn): readonly AnswerDifference[] => [
  ...differing("answered", answerOf(before.result), answerOf(after.result)),
  ...detailDifferences(before.result, after.result),
  ...differing("handled", appliedTo(before.result), appliedTo(after.result)),
  ...memberDifferences(before, after),
];

/** What the difference of the forwarded path and query is about. */
export const PATH_SENT = "path sent";

/** By what they are about. */
type Facts = Readonly<Record<string, unknown>>;

function differing(kind: AnswerDifference["kind"], before: Facts, after: Facts): readonly AnswerDifference[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((about) => {
    const [was, will] = [before[about] ?? null, after[about] ?? null];
    return canonicalJson(was) === canonicalJson(will) ? [] : [{ kind, about, before: was, after: will }];
  });
}

/** Headers that differ for each request, or follow from the body. */
const unstable = /^(?:date|content-length|x-(?:sluice|kong)-.*)$/;

/** Maximum characters of a body. */
const MAX_BODY = 200;

function answerOf({ handshake, consumer, response, unknown }: ExplainedResult): Facts {
  const certificate = handshake?.certificate;
  return {
    answer: answerText({ response, unknown }),
    consumer: consumer && labelOf(consumer),
    ...(handshake && { certificate: certificate ? `${certificate.subject}, until ${certificate.not_after}` : null }),
  };
}

/** The details of two responses of the gateway, or of two requests to upstreams. */
function detailDifferences(before: ExplainedResult, after: ExplainedResult): readonly AnswerDifference[] {
  if (before.upstream !== null && after.upstream !== null)
    return differing("answered", sentFacts(before.upstream), sentFacts(after.upstream));
  if (before.response === null || after.response === null) return [];
  return differing("answered", responseFacts(before.response), responseFacts(after.response));
}

/** A message is part of the answer. */
function responseFacts({ headers, body }: NonNullable<Explanation["response"]>): Facts {
  return {
    ...headerFacts("response header", headers),
    ...(messageIn(body) === null && { body: body.replaceAll(/[\da-f]{32}/g, "ID").slice(0, MAX_BODY) }),
  };
}

const labelOf = ({ id, name }: EntityName): string => name ?? id;

function answerText({ response, unknown }: Pick<ExplainedResult, "response" | "unknown">): string {
  if (unknown !== null) return `unknown: ${unknown}`;
  if (response === null) return "the service answers";
  const message = messageIn(response.body);
  return message === null ? String(response.status) : `${response.status}: ${message}`;
}

/** The message of a JSON body; null: there is none. */
function messageIn(body: string): string | null {
  try {
    const { message } = Object(JSON.parse(body)) as { readonly message?: unknown };
    return typeof message === "string" ? message.slice(0, MAX_BODY) : null;
  } catch {
    return null;
  }
}

function sentFacts({ method, url, headers, algorithm, targets, target }: NonNullable<Explanation["upstream"]>): Facts {
  const [, origin = "", path = ""] = /^(\w+:\/\/[^/]*)(.*)$/.exec(url) ?? [];
  return {
    "sent to": origin,
    [PATH_SENT]: path,
    "method sent": method,
    algorithm,
    target,
    targets: targets.map(({ address, weight, refusal }) =>
      [address, weight === null ? "" : ` (weight ${weight})`, refusal === null ? "" : ` (refused: ${refusal})`].join(
        "",
      ),
    ),
    ...headerFacts("request header", headers),
  };
}

function headerFacts(what: string, headers: readonly (readonly [name: string, value: string])[]): Facts {
  const facts: Record<string, string> = {};
  for (const [name, value] of headers) {
    const about = `${what} ${name.toLowerCase()}`;
    if (!unstable.test(name.toLowerCase())) facts[about] = about in facts ? `${facts[about]}, ${value}` : value;
  }
  return facts;
}

const inactive: ReadonlySet<string> = new Set(["overridden", "other protocol", "disabled"]);

/** The plugins and limits that apply. */
function appliedTo({ plugins, counters }: ExplainedResult): Facts {
  const applied = plugins.filter(({ result }) => !inactive.has(result));
  const names = new Map(applied.map(({ id, name }) => [id, name ?? id]));
  return Object.fromEntries([
    ...applied.map((plugin) => [`plugin ${labelOf(plugin)}`, placeOf(plugin)]),
    ...counters.map(({ plugin, period, limit }) => [`limit of ${names.get(plugin) ?? plugin} per ${period}`, limit]),
  ]);
}

const placeOf = ({ scope }: ExplainedResult["plugins"][number]): string => {
  const text = pluginScopeText(scope);
  return text === "" ? "for all requests" : `of ${text}`;
};

const sentMembers = ["name", "tags", "enabled", "protocol", "host", "port", "path", "upstream_headers"];
/** Members that other differences show. */
const shownElsewhere: Readonly<Record<"plugins" | "services" | "upstreams", ReadonlySet<string>>> = {
  plugins: new Set(["name", "instance_name", "tags", "enabled", "service", "route", "consumer", "consumer_group"]),
  services: new Set(sentMembers),
  upstreams: new Set(["name", "tags", "algorithm", "host_header"]),
};

/** The members of plugins, service and upstream of the request that differ. */
function memberDifferences(before: ExplainedIn, after: ExplainedIn): readonly AnswerDifference[] {
  const changed = (collection: keyof typeof shownElsewhere, what: string, was?: object, will?: object) =>
    was === undefined || will === undefined
      ? []
      : changesBetween(collection, was, will)
          .filter(({ member }) => !shownElsewhere[collection].has(member.split(".", 1)[0] ?? ""))
          .map(({ member, ...values }) => ({ kind: "handled" as const, about: `${what}: ${member}`, ...values }));
  const kept = before.result.plugins.filter(
    ({ id, result }) => !inactive.has(result) && after.result.plugins.some((other) => other.id === id),
  );
  const { service } = before.result;
  if (service?.id !== after.result.service?.id) return [];
  const id = service?.id ?? "";
  const upstreamIn = ({ runtime }: ExplainedIn) => runtime.upstreams.get(id)?.parts.balancer?.upstream;
  const [was, will] = [upstreamIn(before), upstreamIn(after)];
  return [
    ...kept.flatMap((plugin) =>
      changed(
        "plugins",
        `plugin ${labelOf(plugin)}`,
        before.runtime.snapshot.plugins.get(plugin.id),
        after.runtime.snapshot.plugins.get(plugin.id),
      ),
    ),
    ...changed(
      "services",
      `service ${service && labelOf(service)}`,
      before.runtime.snapshot.services.get(id),
      after.runtime.snapshot.services.get(id),
    ),
    ...(was?.id === will?.id
      ? changed("upstreams", `upstream ${was && entityNameOf("upstreams", was)}`, was, will)
      : []),
  ];
}
