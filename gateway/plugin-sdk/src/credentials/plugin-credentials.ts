/** Credentials that belong to consumers, and that a plugin declares and verifies itself. */
import type { ExchangeConsumer, StoredCredential } from "../exchange/entities.ts";
import type { RecordSchema, Static, TypedSchema } from "../schema/member.ts";
import type { RecordMembers } from "../schema/rules.ts";
import type { Violation } from "../violation.ts";

/** The facts about a plugin's credentials, which are entities of the collection `plugin_credentials`. */
export interface PluginCredentialFacts<Schema extends RecordSchema = RecordSchema> {
  /**
   * Limits of the field `key`: the text by which a request names its credential, such as a token or a user name. It is
   * unique among the credentials of the plugin, and nodes store only its hash. Default: up to 512 characters.
   */
  readonly key?: TypedSchema<string>;
  /** The other members of a credential, in its field `config`. Members may be `secret`. */
  readonly schema: Schema;
  /** Checks members of `config` against each other, like `check` of the plugin. */
  check?(config: RecordMembers): readonly Violation[];
}

/** A credential of a plugin, and the consumer to whom it belongs. */
export interface PluginIdentity<Schema extends RecordSchema = RecordSchema> {
  readonly consumer: ExchangeConsumer;
  readonly credential: StoredCredential & { readonly tags: readonly string[] | null; readonly config: Static<Schema> };
}

/** The part of a plugin's facts by which it finds its own credentials. */
export interface CredentialPlugin<Schema extends RecordSchema = RecordSchema> {
  readonly name: string;
  readonly credentials?: PluginCredentialFacts<Schema>;
}
