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

const forbidden: DirectResponse = { status: 403, message: "You cannot consume this service" };
const unauthorized: DirectResponse = { status: 401, message: "Unauthorized" };

const CONSUMER_GROUPS = "X-Consumer-Groups";
const AUTHENTICATED_GROUPS = "X-Authenticated-Groups";

interface Decision {
  readonly isAccepted: boolean;
  /** Sets the header with the groups for the upstream. */
  readonly edit: HeaderEdit;
}

export const acl = definePlugin({
  ...aclFacts,
  phases(config) {
    const denies = config.deny !== null && config.deny.length > 0;
    const listed = new Set(denies ? config.deny : config.allow);

    const decide = (groups: readonly string[], name: string): Decision => ({
      isAccepted: groups.some((group) => listed.has(group)) !== denies,
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

    function apply(exchange: Exchange, { isAccepted, edit }: Decision): DirectResponse | undefined {
      if (!isAccepted) return forbidden;
      if (!config.hide_groups_header) exchange.upstreamHeaders.apply(edit);
      return undefined;
    }

    return {
      access(exchange) {
        const { consumer, credential, authenticatedGroups } = exchange;
        const refusal = credential === null ? unauthorized : forbidden;
        const usesAuthenticated = consumer === null || credential === null || config.always_use_authenticated_groups;
        if (usesAuthenticated && authenticatedGroups !== null) {
          return apply(exchange, decide(authenticatedGroups, AUTHENTICATED_GROUPS));
        }
        if (consumer === null) return refusal;
        const groups = exchange.identities.groups(consumer.id);
        // A consumer without groups is in no group of `allow`; if it is anonymous, the response is 401.
        if (groups.length === 0 && !denies) return refusal;
        return apply(exchange, decideByConsumer(groups));
      },
    };
  },
});
