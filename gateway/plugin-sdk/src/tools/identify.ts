/** Sets the consumer of an exchange, and the identity headers for the upstream. */

import type { ExchangeConsumer, ExchangeCredential } from "../exchange/entities.ts";
import type { Exchange, HeaderEdit, HeaderEditGroup } from "../exchange/exchange.ts";
import { editGroup, removeHeaderEdit, setHeaderEdit } from "../exchange/header-edits.ts";
import { headerValue } from "../exchange/header-value.ts";

export interface AuthenticatedIdentity {
  /** Null: the credential belongs to no consumer. */
  readonly consumer: ExchangeConsumer | null;
  /** Null for the anonymous consumer. */
  readonly credential: ExchangeCredential | null;
  /** The value of X-Credential-Identifier: always the same for one credential. Default: the credential's id. */
  readonly identifier?: string;
}

/** A header without a value is removed: the client may have sent it. */
const edit = (name: string, value: string | null | undefined): HeaderEdit =>
  value === null || value === undefined ? removeHeaderEdit(name) : setHeaderEdit(name, headerValue(value));

/** The edits of each consumer, cached because they are the same for all its requests. */
const ofConsumers = new WeakMap<ExchangeConsumer, readonly HeaderEdit[]>();
/** The edits of each credential, cached for the same reason. */
const ofCredentials = new WeakMap<ExchangeCredential, Made>();
const withoutConsumer = ["X-Consumer-ID", "X-Consumer-Username", "X-Consumer-Custom-ID", "X-Consumer-Tags"].map(
  removeHeaderEdit,
);
const ANONYMOUS = "X-Anonymous-Consumer";
const CREDENTIAL = "X-Credential-Identifier";
const ofNobody = [removeHeaderEdit(CREDENTIAL), setHeaderEdit(ANONYMOUS, "true")];

/** The edits for a credential, and its consumer: the consumer may change while the credential stays. */
interface Made {
  readonly consumer: ExchangeConsumer | null;
  readonly group: HeaderEditGroup;
}

/** X-Consumer-Tags is specific to Sluice; Kong does not have it. */
function consumerEdits(consumer: ExchangeConsumer | null): readonly HeaderEdit[] {
  if (consumer === null) return withoutConsumer;
  let edits = ofConsumers.get(consumer);
  if (edits === undefined) {
    edits = [
      edit("X-Consumer-ID", consumer.id),
      edit("X-Consumer-Username", consumer.username),
      edit("X-Consumer-Custom-ID", consumer.custom_id),
      edit("X-Consumer-Tags", consumer.tags?.length ? consumer.tags.join(",") : null),
    ];
    ofConsumers.set(consumer, edits);
  }
  return edits;
}

function groupOf({ consumer, credential, identifier }: AuthenticatedIdentity): HeaderEditGroup {
  if (credential === null) return editGroup([...consumerEdits(consumer), ...ofNobody]);
  let made = ofCredentials.get(credential);
  if (made?.consumer !== consumer) {
    const own = [edit(CREDENTIAL, identifier ?? credential.id), removeHeaderEdit(ANONYMOUS)];
    made = { consumer, group: editGroup([...consumerEdits(consumer), ...own]) };
    ofCredentials.set(credential, made);
  }
  return made.group;
}

export function applyIdentity(exchange: Exchange, identity: AuthenticatedIdentity): void {
  exchange.consumer = identity.consumer;
  exchange.credential = identity.credential;
  exchange.anonymous = identity.credential === null;
  exchange.upstreamHeaders.applyAll(groupOf(identity));
}
