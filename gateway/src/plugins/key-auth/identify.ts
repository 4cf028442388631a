/** Tells the rest of the gateway and the upstream whose request it is (kong-contract 3.3). */
import type { Consumer, SnapshotCredential } from "@sluice/model";
import type { Exchange, HeaderEdit } from "../../proxy/exchange.ts";
import { removingHeader, settingHeader } from "../../proxy/header-edits.ts";
import { headerValue } from "../header-value.ts";

export interface Identity {
  readonly consumer: Consumer;
  /** Null for the anonymous consumer. */
  readonly credential: SnapshotCredential | null;
}

/** What is not known is removed: a client may have sent it. */
const edit = (name: string, value: string | null | undefined): HeaderEdit =>
  value === null || value === undefined ? removingHeader(name) : settingHeader(name, headerValue(value));

/** Those of one consumer or credential are the same for each of its requests. */
const ofConsumers = new WeakMap<Consumer, readonly HeaderEdit[]>();
const ofCredentials = new WeakMap<SnapshotCredential, readonly HeaderEdit[]>();
const ANONYMOUS = "X-Anonymous-Consumer";
const CREDENTIAL = "X-Credential-Identifier";
const ofNobody = [removingHeader(CREDENTIAL), settingHeader(ANONYMOUS, "true")];

/** Ours, not Kong's. What a client sends under this name never passes, so where there are no tags there is nothing to do. */
const tagEdits = ({ tags }: Consumer): readonly HeaderEdit[] =>
  tags === null || tags.length === 0 ? [] : [edit("X-Consumer-Tags", tags.join(","))];

function consumerEdits(consumer: Consumer): readonly HeaderEdit[] {
  let edits = ofConsumers.get(consumer);
  if (edits === undefined) {
    edits = [
      edit("X-Consumer-ID", consumer.id),
      edit("X-Consumer-Username", consumer.username),
      edit("X-Consumer-Custom-ID", consumer.custom_id),
      ...tagEdits(consumer),
    ];
    ofConsumers.set(consumer, edits);
  }
  return edits;
}

function credentialEdits(credential: SnapshotCredential | null): readonly HeaderEdit[] {
  if (credential === null) return ofNobody;
  let edits = ofCredentials.get(credential);
  if (edits === undefined) {
    edits = [edit(CREDENTIAL, credential.id), removingHeader(ANONYMOUS)];
    ofCredentials.set(credential, edits);
  }
  return edits;
}

export function identify(exchange: Exchange, { consumer, credential }: Identity): void {
  exchange.consumer = consumer;
  exchange.credential = credential;
  exchange.anonymous = credential === null;
  const { upstreamHeaders } = exchange;
  for (const made of consumerEdits(consumer)) upstreamHeaders.apply(made);
  for (const made of credentialEdits(credential)) upstreamHeaders.apply(made);
}
