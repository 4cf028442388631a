/**
 * forward-auth: an authorization server decides about every request
 * (docs/reference/kong-compatibility.md#forward-auth).
 */
import {
  type AuthenticationResult,
  addressList,
  authenticationPhase,
  type DirectResponse,
  definePlugin,
  type Exchange,
  type ExchangeConsumer,
  type HttpRequest,
  type HttpResponse,
  unexpectedError,
} from "@sluice/plugin-sdk";
import { AddressError, authRequests } from "./auth-request.ts";
import { applyAdmission, consumerNameOf, isAdmission, removeAuthHeaders, traefikRefusalOf } from "./auth-response.ts";
import { AuthCookies, nginxRefusalOf, signinRedirect } from "./nginx-response.ts";
import { forwardAuthFacts } from "./schema.ts";

const UNAUTHORIZED = 401;

const tooLong: DirectResponse = { status: 413, message: "Request body too large" };
/** Kong's response to credentials without a consumer. */
const withoutConsumer: DirectResponse = { status: 403, message: "You cannot consume this service" };

/** The server's response, or, if there is none, the gateway's response to the client. */
type Verdict =
  | { readonly response: HttpResponse; readonly failure?: undefined }
  | { readonly failure: DirectResponse; readonly response?: undefined };

export const forwardAuth = definePlugin({
  ...forwardAuthFacts,
  phases(config, { network }) {
    const { consumer_header: consumerHeader } = config;
    const isNginx = config.request_style === "nginx";
    const isExempt = addressList(config.exempt);
    const requestOf = authRequests(config);
    const cookies = isNginx ? new AuthCookies(config) : null;

    const refusalOf = (exchange: Exchange, response: HttpResponse): DirectResponse =>
      isNginx ? nginxRefusalOf(response) : traefikRefusalOf(exchange, response, config);

    function failureOf({ message }: Error): DirectResponse {
      const reason = `forward-auth: the request to the authorization server failed: ${message}`;
      return isNginx ? unexpectedError(reason) : { status: 503, message: "Service unavailable", reason };
    }

    async function ask(exchange: Exchange): Promise<Verdict> {
      let request: HttpRequest;
      try {
        request = requestOf(exchange);
      } catch (error) {
        if (error instanceof AddressError) return { failure: failureOf(error) };
        throw error;
      }
      const body = config.forward_body ? await exchange.request.body(config.max_body_size) : undefined;
      if (body === null) return { failure: tooLong };
      try {
        const response = await network.http.send(body === undefined ? request : { ...request, body });
        cookies?.keepCookies(exchange, response);
        return { response };
      } catch (error) {
        return { failure: failureOf(error as Error) };
      }
    }

    async function decide(exchange: Exchange): Promise<DirectResponse | undefined> {
      const { response, failure } = await ask(exchange);
      if (failure !== undefined) return failure;
      if (!isAdmission(response)) return refusalOf(exchange, response);
      applyAdmission(exchange, response, config);
      return undefined;
    }

    async function authenticate(exchange: Exchange, header: string): Promise<AuthenticationResult> {
      const { response, failure } = await ask(exchange);
      if (failure !== undefined) return { response: failure };
      if (!isAdmission(response)) {
        const refusal = refusalOf(exchange, response);
        return response.status === UNAUTHORIZED ? { refusal } : { response: refusal };
      }
      applyAdmission(exchange, response, config);
      const name = consumerNameOf(response, header);
      if (name === undefined) return { refusal: withoutConsumer };
      const consumer = consumerNamed(exchange, name);
      if (consumer === undefined) return { response: withoutConsumer };
      return { identity: { consumer, credential: { id: consumer.id, consumer: { id: consumer.id } } } };
    }

    const access =
      consumerHeader === null
        ? decide
        : authenticationPhase({
            plugin: "forward-auth",
            anonymous: config.anonymous,
            authenticate: (exchange) => authenticate(exchange, consumerHeader),
          });
    return {
      access(exchange) {
        // `access` collects the client's headers synchronously, so they can be removed as soon as it returns.
        const result = isExempt?.(exchange.request.clientAddress) === true ? undefined : access(exchange);
        removeAuthHeaders(exchange, config);
        return result;
      },
      ...(cookies && { responseHeaders: (exchange: Exchange) => cookies.apply(exchange) }),
      ...(config.signin_url !== null && { responseBody: signinRedirect(config) }),
    };
  },
});

/** The consumer with this username or custom_id. `identities.consumer` accepts ids too, so the username is compared. */
function consumerNamed({ identities }: Exchange, name: string): ExchangeConsumer | undefined {
  const consumer = identities.consumer(name);
  return consumer?.username === name ? consumer : identities.consumerByCustomId(name);
}
