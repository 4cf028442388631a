/**
 * session: a consumer whom another plugin has authenticated needs no credentials in later requests
 * (docs/reference/kong-compatibility.md#session).
 */
import { randomBytes } from "node:crypto";
import {
  applyIdentity,
  type DirectResponse,
  definePlugin,
  type Exchange,
  type ExchangeConsumer,
  type ExchangeCredential,
  ExchangeValues,
  headerValue,
  newSession,
  overrideHeaderEdit,
  pairValues,
  purgeHeaderEdit,
  readBodyMembers,
  sessionCookieKey,
  setHeaderEdit,
} from "@sluice/plugin-sdk";
import { propertyHeaderOf, propertyOf, type SessionSubject } from "./properties.ts";
import { type SessionConfig, sessionFacts } from "./schema.ts";
import { type CookieSession, SessionCookies } from "./session-cookies.ts";

/** Bytes of a session's id. */
const ID = 32;

/** Methods of requests whose body is searched for `logout_post_arg`, as in Kong. */
const methodsWithBody: ReadonlySet<string> = new Set(["POST", "DELETE"]);

/** The session that authenticated a request. */
interface Used {
  readonly session: CookieSession;
  /** Whether its cookies have to be set again. */
  readonly isChanged: boolean;
}

export const session = definePlugin({
  ...sessionFacts,
  phases(config, { now, log }) {
    const cookies = new SessionCookies(config, now);
    const used = new ExchangeValues<Used | null>();
    const cookieKey = sessionCookieKey(config.cookie_name);
    const toUpstream = config.request_headers ?? [];
    const toClient = config.response_headers ?? [];

    /** Sets the headers for the upstream; removes a header that gets no value: the client may have forged it. */
    function setRequestHeaders({ upstreamHeaders }: Exchange, subject: SessionSubject | null): void {
      for (const property of toUpstream) {
        const value = subject === null ? null : propertyOf(property, subject, cookies.seconds);
        const name = propertyHeaderOf(property);
        upstreamHeaders.apply(value === null ? purgeHeaderEdit(name) : overrideHeaderEdit(name, headerValue(value)));
      }
    }

    function authenticate(exchange: Exchange, opened: Used): undefined {
      const { session } = opened;
      const consumer = exchange.identities.consumer(session.consumer);
      if (consumer?.id !== session.consumer) {
        cookies.clear(exchange);
        return;
      }
      const credential = credentialOf(exchange, session);
      // The cookie is not removed, because the credential may be valid for other routes.
      if (credential === undefined) return;
      used.set(exchange, opened);
      if (session.groups !== null) exchange.authenticatedGroups = session.groups;
      applyIdentity(exchange, { consumer, credential });
      setRequestHeaders(exchange, { session, consumer, config });
    }

    function logOut(exchange: Exchange): DirectResponse {
      cookies.clear(exchange);
      return { status: 200, body: "" };
    }

    function access(exchange: Exchange): DirectResponse | undefined | Promise<DirectResponse | undefined> {
      used.set(exchange, null);
      exchange.shared.set(cookieKey, true);
      cookies.hide(exchange);
      setRequestHeaders(exchange, null);
      const opened = cookies.open(exchange.request);
      if (opened === null) return undefined;
      const isLogout = asksForLogout(exchange, config);
      const proceed = (logout: boolean) => (logout ? logOut(exchange) : authenticate(exchange, opened));
      return isLogout instanceof Promise ? isLogout.then(proceed) : proceed(isLogout);
    }

    /**
     * The session of an authenticated exchange: the one that the request brought, or a new one. Null: the new
     * session is too long for cookies.
     */
    function keep(
      exchange: Exchange,
      consumer: ExchangeConsumer,
      credential: ExchangeCredential,
    ): CookieSession | null {
      const opened = used.get(exchange);
      if (opened?.session.credential === credential.id && opened.session.consumer === consumer.id) {
        if (opened.isChanged) cookies.renew(exchange, opened.session);
        return opened.session;
      }
      const begun: CookieSession = {
        id: randomBytes(ID).toString("base64url"),
        consumer: consumer.id,
        credential: credential.id,
        ...validityOf(exchange, credential),
        groups: exchange.authenticatedGroups,
        times: newSession(cookies.seconds),
      };
      if (cookies.begin(exchange, begun)) return begun;
      log.warn("a session was not started, because it is too long for cookies", {}, exchange);
      return null;
    }

    return {
      access,
      responseHeaders(exchange) {
        const { consumer, credential } = exchange;
        // `used` has no entry if an earlier plugin answered the request; after a logout there is no consumer.
        if (used.get(exchange) === undefined || consumer === null || credential === null) return;
        const kept = keep(exchange, consumer, credential);
        for (const property of kept === null ? [] : toClient) {
          const value = kept && propertyOf(property, { session: kept, consumer, config }, cookies.seconds);
          if (value !== null)
            exchange.responseHeaders.apply(setHeaderEdit(propertyHeaderOf(property), headerValue(value)));
        }
      },
    };
  },
});

/**
 * Where and how long a session of the credential is valid. A credential that is not an entity, such as the subject of a
 * token, is valid only in the namespace of its login. Otherwise users who may write in one namespace could impersonate
 * any consumer in other namespaces: they would configure an authentication server of their own, which states the
 * consumer or the credential's id.
 */
function validityOf(
  { identities }: Exchange,
  credential: ExchangeCredential,
): Pick<CookieSession, "isEntity" | "namespace"> {
  const entity = identities.credentialById(credential.id);
  return { isEntity: entity !== undefined, namespace: entity === credential ? null : identities.namespace };
}

/** The credential of the session; undefined: it was deleted, has expired, or is not valid for the route. */
function credentialOf(
  { identities }: Exchange,
  { credential: id, consumer, isEntity, namespace }: CookieSession,
): ExchangeCredential | undefined {
  if (namespace !== null && namespace !== identities.namespace) return undefined;
  if (!isEntity) return { id, consumer: { id: consumer } };
  const credential = identities.credentialById(id);
  return credential?.consumer.id === consumer ? credential : undefined;
}

function asksForLogout({ request }: Exchange, config: SessionConfig): boolean | Promise<boolean> {
  const { logout_methods: methods, logout_query_arg, logout_post_arg, read_body_for_logout: readsBody } = config;
  if (!methods.some((method) => method === request.method)) return false;
  if (pairValues(request.query.slice(1), logout_query_arg).length > 0) return true;
  if (!readsBody || !methodsWithBody.has(request.method)) return false;
  return readBodyMembers(request).then((members) => (members?.values(logout_post_arg).length ?? 0) > 0);
}
