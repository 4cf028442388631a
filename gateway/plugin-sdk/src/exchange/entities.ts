/** The entities of an exchange, with the members that plugins may read, named as in Kong's admin API. */

export interface ExchangeConsumer {
  readonly id: string;
  readonly username: string | null;
  readonly custom_id: string | null;
  readonly tags: readonly string[] | null;
}

export interface ExchangeCredential {
  readonly id: string;
  /**
   * The consumer that owns the credential. Null: the credential is not an entity, but for example a token's subject.
   */
  readonly consumer: { readonly id: string } | null;
}

/** A credential that is an entity. */
export interface StoredCredential extends ExchangeCredential {
  readonly consumer: { readonly id: string };
}

/**
 * The credentials of each collection. Nodes store only hashes of API keys and passwords, which suffice to check the
 * values in requests.
 */
export interface ExchangeCredentials {
  readonly keyauth_credentials: StoredCredential;
  readonly jwt_secrets: StoredCredential & {
    readonly key: string;
    readonly secret: string | null;
    readonly rsa_public_key: string | null;
    readonly algorithm: string;
  };
  readonly basicauth_credentials: StoredCredential & { readonly username: string; readonly password: string };
  readonly hmacauth_credentials: StoredCredential & { readonly username: string; readonly secret: string };
  readonly mtls_auth_credentials: StoredCredential & {
    readonly subject_name: string;
    /** Null: the credential does not depend on the certificate authority. */
    readonly ca_certificate: { readonly id: string } | null;
  };
}

export interface ExchangeRoute {
  readonly id: string;
  readonly name: string | null;
  /** Host names on which the route matches, possibly with `*` at the beginning or the end. Null: it matches any host. */
  readonly hosts: readonly string[] | null;
}

export interface ExchangeService {
  readonly id: string;
  readonly name: string | null;
  readonly host: string;
}

/** The certificate of a certificate authority, from `ca_certificates`. */
export interface ExchangeCaCertificate {
  readonly id: string;
  /** One certificate in PEM. */
  readonly cert: string;
}

/** The documents of a client of a GraphQL service, from `graphql_documents`. */
export interface ExchangeGraphqlDocuments {
  readonly id: string;
  readonly name: string;
  /** Documents and their ids as JSON, in a format that the plugin graphql reads. */
  readonly manifest: string;
}

/** The only workspace. Its id is that of Kong's workspace `default` without a database. */
export const workspace = { id: "0dc6f45b-8f8d-40d2-a504-473544ee190b", name: "default" } as const;
