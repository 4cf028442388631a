/** acl: accepts requests by the groups of their consumers (docs/reference/kong-compatibility.md#acl). */
import {
  type DirectResponse,
  definePlugin,
  type Exchange,
  type HeaderEdit,
  headerValue,
  setHeaderEdit,
} from "@sluice/plugin-sdk";
import { aclFacts } from "./schema.ts";

/** @param reason For the log and for explanations: clients must not see the names of groups */
const forbidden = (reason: string): DirectResponse => ({
  status: 403,
  message: "You cannot consume this service",
  reason,
});
const unauthorized: DirectResponse = { status: 401, message: "Unauthorized" };

const CONSUMER_GROUPS = "X-Consumer-Groups";
const AUTHENTICATED_GROUPS = "X-Authenticated-Groups";

/** Maximum number of groups that a reason names. */
const MAX_NAMED = 10;

const namesOf = (groups: readonly string[]): string =>
  groups.length > MAX_NAMED ? `${groups.slice(0, MAX_NAMED).join(", ")} and more` : groups.join(", ");

interface Decision {
  /** Null: the request is accepted. */
  readonly refusal: DirectResponse | null;
  /** Sets the header with the groups for the upstream. */
  readonly edit: HeaderEdit;
}

export const acl = definePlugin({
  ...aclFacts,
  phases(config) {
    const denies = config.deny !== null && config.deny.length > 0;
    const listed = new Set(denies ? config.deny : config.allow);
    const rule = `the plugin ${denies ? "denies" : "allows"} ${namesOf([...listed])}`;
    const refusalFor = (groups: readonly string[]): DirectResponse =>
      forbidden(`the consumer is in ${groups.length === 0 ? "no group" : `the groups ${namesOf(groups)}`}; ${rule}`);
    const withoutConsumer = forbidden(`the credential belongs to no consumer; ${rule}`);
    const withoutGroups = refusalFor([]);

    const decide = (groups: readonly string[], name: string): Decision => ({
      refusal: groups.some((group) => listed.has(group)) === denies ? refusalFor(groups) : null,
      edit: setHeaderEdit(name, headerValue(groups.join(", "))),
    });

    /** Decisions by the list of a consumer's groups: the list is the same object until the groups change. */
    const decisions = new WeakMap<object, Decision>();
    const decideByConsumer = (groups: readonly { readonly group: string }[]): Decision =>
      decisions.getOrInsertComputed(groups, () =>
        decide(
          groups.map(({ group }) => group),
          CONSUMER_GROUPS,
        ),
      );

    function apply(exchange: Exchange, { refusal, edit }: Decision): DirectResponse | undefined {
      if (refusal !== null) return refusal;
      if (!config.hide_groups_header) exchange.upstreamHeaders.apply(edit);
      return undefined;
    }

    return {
      access(exchange) {
        const { consumer, credential, authenticatedGroups } = exchange;
        const usesAuthenticated = consumer === null || credential === null || config.always_use_authenticated_groups;
        if (usesAuthenticated && authenticatedGroups !== null) {
          return apply(exchange, decide(authenticatedGroups, AUTHENTICATED_GROUPS));
        }
        if (consumer === null) return credential === null ? unauthorized : withoutConsumer;
        const groups = exchange.identities.groups(consumer.id);
        // A consumer without groups is in no group of `allow`; if it is anonymous, the response is 401.
        if (groups.length === 0 && !denies) return credential === null ? unauthorized : withoutGroups;
        return apply(exchange, decideByConsumer(groups));
      },
    };
  },
});
