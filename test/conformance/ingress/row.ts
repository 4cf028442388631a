/** A row of the suite: Ingresses, the configuration of nginx for them, and requests with the expected responses. */

export interface IngressRow {
  /** The behavior as a sentence. */
  readonly title: string;
  readonly ingresses: readonly IngressNotation[];
  /**
   * The directives that ingress-nginx writes into the server block of the row's host, or into several by server name;
   * `_` is the server for unknown hosts. Backends are named like core Services: `proxy_pass http://up`.
   */
  readonly nginx: string | Readonly<Record<string, string>>;
  /** Directives for nginx' http block. */
  readonly http?: string;
  /** Texts of the Events of the Ingresses. Default: none. */
  readonly events?: readonly string[];
  readonly exchanges: readonly IngressRequest[];
}

/** HOST in a text stands for the row's host, which no other row uses. */
export interface IngressNotation {
  /** Default HOST; null: a rule without a host. */
  readonly host?: string | null;
  /** Without the prefix of ingress-nginx. `http://auth` is the address of the auth server. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** `<pathType> <path> <backend>`; the backends are in `servers.ts`. */
  readonly paths: readonly string[];
  /** The name of a backend. */
  readonly defaultBackend?: string;
  /** Whether `spec.tls` has the host. Default false. */
  readonly tls?: boolean;
}

export type ExpectedValues = Readonly<Record<string, string | RegExp | null>>;

export interface Expected {
  /** The status, then each server that received the request, with its target: `200 auth /verify up /foo`. */
  readonly is: string;
  /** Headers of the response; null: absent. */
  readonly headers?: ExpectedValues;
  /** Headers that a server received, by the server's name. */
  readonly received?: Readonly<Record<string, ExpectedValues>>;
}

export interface IngressRequest extends Expected {
  /** `GET /path`. */
  readonly send: string;
  /** Default HOST; null: no Host header. */
  readonly host?: string | null;
  readonly with?: Readonly<Record<string, string>>;
  /** Bytes of the body. */
  readonly body?: number;
  readonly chunked?: boolean;
  /** A request of the same client that has reached its server and gets no response meanwhile: `GET /path`. */
  readonly during?: string;
  /** How often the request is sent, each with the same response. Default 1. */
  readonly times?: number;
  /**
   * What Sluice does on purpose instead of nginx. `because` is a text of docs/reference/ingress.md or
   * docs/how-to/leave-ingress-nginx.md.
   */
  readonly sluice?: Partial<Expected> & { readonly because: string };
}

export const basic = (user: string, password: string, scheme = "Basic") => ({
  Authorization: `${scheme} ${Buffer.from(`${user}:${password}`).toString("base64")}`,
});
