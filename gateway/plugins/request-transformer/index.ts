/** request-transformer: changes requests before they are forwarded (docs/reference/kong-compatibility.md). */
import {
  byteString,
  type DirectResponse,
  definePlugin,
  type Exchange,
  isEncoded,
  lowerCase,
  TemplateError,
  type TemplateScope,
  type TemplateValue,
  textOfBytes,
  unexpectedError,
} from "@sluice/plugin-sdk";
import { bodyTypeOf, changedBody, formOf, InvalidBodyError, MAX_BODY, TooManyMembersError } from "./body.ts";
import { templateOf } from "./entries.ts";
import { ChangedHeaders, headerActionsOf } from "./headers.ts";
import { PairMembers } from "./pairs.ts";
import { requestTransformerFacts } from "./schema.ts";
import { actionsOf, transformMembers } from "./transform.ts";

const tooLarge: DirectResponse = { status: 413, message: "Payload too large" };
const badRequest: DirectResponse = { status: 400, message: "Bad request" };

/** If the method becomes one of these, the members of a form body are added to the query. */
const QUERY_METHODS: ReadonlySet<string | null> = new Set(["GET", "HEAD", "TRACE"]);

const queryOf = ({ upstreamQuery }: Exchange): PairMembers => new PairMembers(upstreamQuery.slice(1));

/** The value of a header; undefined: it is absent. As in Kong, a name with `_` also finds a header with `-`. */
function headerValueOf(exchange: Exchange, name: Lowercase<string>): string | undefined {
  if (name === "host") return exchange.request.host || undefined;
  const values = exchange.upstreamHeaderValues(name);
  if (values.length > 0) return values.join(", ");
  return name.includes("_") ? headerValueOf(exchange, lowerCase(name.replaceAll("_", "-"))) : undefined;
}

/** What templates may show: values of the request before the plugin changes it. */
function scopeOf(exchange: Exchange): TemplateScope {
  let query: PairMembers | null = null;
  const text = (value: string | boolean | undefined): TemplateValue =>
    typeof value === "string" ? byteString(value) : value;
  return (table, name) => {
    if (table === "headers") return headerValueOf(exchange, lowerCase(name));
    if (table === "query_params") {
      query ??= queryOf(exchange);
      return query.valueOf(name);
    }
    const { pathCaptures, shared } = exchange;
    if (table === "shared") return text(shared.get(name));
    return pathCaptures !== null && Object.hasOwn(pathCaptures, name) ? text(pathCaptures[name]) : undefined;
  };
}

/**
 * A dot segment, including one with parameters, with encoded characters, or between encoded slashes. Values of a
 * request must not lead out of the path in which the template puts them.
 */
const DOT_SEGMENT = /(?:^|[/\\]|%2f|%5c)(?:\.|%2e){1,2}(?=;|[/\\]|%2f|%5c|$)/i;

/** A rendered template as a path: it has no query, and each `%` begins an escape. */
const pathOf = (rendered: string): string =>
  textOfBytes(rendered).replace(/[?#]|%(?![\da-f]{2})/gi, (character) => encodeURIComponent(character));

export const requestTransformer = definePlugin({
  ...requestTransformerFacts,
  phases(config) {
    const uri = config.replace.uri === null ? null : templateOf(config.replace.uri);
    const headerActions = headerActionsOf(config);
    const bodyActions = actionsOf(config, "body");
    const queryActions = actionsOf(config, "querystring");
    const movesForms = QUERY_METHODS.has(config.http_method);

    /** Sets the path if the config has one. Returns a response if the path is invalid. */
    function changePath(exchange: Exchange, scope: TemplateScope): DirectResponse | undefined {
      if (uri === null) return undefined;
      const path = pathOf(uri.render(scope));
      if (!path.startsWith("/"))
        return unexpectedError("request-transformer: the path of replace.uri must start with /");
      if (DOT_SEGMENT.test(path)) return badRequest;
      exchange.upstreamPath = path;
      return undefined;
    }

    /** Returns the changed query; null: unchanged. The members of a form are appended before the actions apply. */
    function changeQuery(exchange: Exchange, scope: TemplateScope, form: PairMembers | null): string | null {
      if (queryActions === null && form === null) return null;
      const query = queryOf(exchange);
      if (form !== null) query.appendAll(form);
      if (queryActions !== null) transformMembers(query, queryActions, scope);
      if (!query.changed) return null;
      return query.text === "" ? "" : `?${query.text}`;
    }

    /** Changes headers and query. Called after all templates are rendered, because templates show unchanged values. */
    function applyChanges(exchange: Exchange, headers: ChangedHeaders | null, query: string | null): undefined {
      headers?.apply();
      if (query !== null) exchange.upstreamQuery = query;
      return undefined;
    }

    function changeHead(exchange: Exchange): DirectResponse | undefined | Promise<DirectResponse | undefined> {
      const scope = scopeOf(exchange);
      const refusal = changePath(exchange, scope);
      if (refusal !== undefined) return refusal;
      if (config.http_method !== null) exchange.upstreamMethod = config.http_method;
      let headers: ChangedHeaders | null = null;
      if (headerActions !== null) {
        headers = new ChangedHeaders(exchange);
        headers.transform(headerActions, scope);
      }
      if (bodyActions !== null || movesForms) {
        const before = exchange.upstreamHeaderValues("content-type").join(", ");
        const contentType = headers?.values("content-type").join(", ") ?? before;
        const isMoved = movesForms && bodyTypeOf(before) === "form";
        const isChanged = bodyActions !== null && bodyTypeOf(contentType) !== null;
        if ((isMoved || isChanged) && !isEncoded(exchange.request.headerValues("content-encoding"))) {
          return withBody(exchange, { scope, headers, contentType, isMoved });
        }
      }
      return applyChanges(exchange, headers, changeQuery(exchange, scope, null));
    }

    async function withBody(
      exchange: Exchange,
      { scope, headers, contentType, isMoved }: Head,
    ): Promise<DirectResponse | undefined> {
      const body = await exchange.request.body(MAX_BODY);
      if (body === null) return tooLarge;
      const type = bodyTypeOf(contentType);
      const changed =
        bodyActions === null || type === null
          ? null
          : changedBody(body, { type, contentType, actions: bodyActions, scope });
      const query = changeQuery(exchange, scope, isMoved ? formOf(body.toString("latin1")) : null);
      if (changed !== null) exchange.replaceBody(changed);
      return applyChanges(exchange, headers, query);
    }

    return {
      access(exchange) {
        try {
          const result = changeHead(exchange);
          return result instanceof Promise ? result.catch(failed) : result;
        } catch (error) {
          return failed(error);
        }
      },
    };
  },
});

interface Head {
  readonly scope: TemplateScope;
  readonly headers: ChangedHeaders | null;
  readonly contentType: string;
  /** Whether the body is a form whose members are added to the query. */
  readonly isMoved: boolean;
}

function failed(error: unknown): DirectResponse {
  if (error instanceof TemplateError)
    return unexpectedError(`request-transformer: a template failed: ${error.message}`);
  if (error instanceof InvalidBodyError) return badRequest;
  if (error instanceof TooManyMembersError) return tooLarge;
  throw error;
}
