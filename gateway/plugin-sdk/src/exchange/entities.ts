/** The entities of an exchange, with the members that plugins may read, named as in Kong's admin API. */

export interface ExchangeConsumer {
  readonly id: string;
  readonly username: string | null;
  readonly custom_id: string | null;
  readonly tags: readonly string[] | null;
}

export interface ExchangeCredential {
  readonly id: string;
  /** The owner. */
  readonly consumer: { readonly id: string };
}

export interface ExchangeRoute {
  readonly id: string;
  readonly name: string | null;
}

export interface ExchangeService {
  readonly id: string;
  readonly name: string | null;
  readonly host: string;
}
