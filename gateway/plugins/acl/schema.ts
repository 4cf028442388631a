/** Config of acl: which groups of consumers may send requests. */
import {
  array,
  boolean,
  definePluginFacts,
  isEmptyValue,
  nullable,
  quotedList,
  type RecordMembers,
  record,
  recordViolation,
  type Static,
  text,
  type Violation,
} from "@sluice/plugin-sdk";

const groups = (description: string) =>
  nullable(
    array(text({ description: "The name of a group.", minLength: 0, maxLength: 512 }), { description, maxItems: 1024 }),
  );

const schema = record(
  {
    allow: groups("Groups whose consumers may send requests; requests of all other consumers are refused."),
    deny: groups("Groups whose consumers may not send requests; requests of all other consumers are accepted."),
    hide_groups_header: boolean({
      description:
        "Do not send the groups to the upstream. By default, the header X-Consumer-Groups contains the consumer's " +
        "groups. If an authentication plugin found the groups, X-Authenticated-Groups contains them instead.",
      default: false,
    }),
    always_use_authenticated_groups: boolean({
      description:
        "Use the groups that an authentication plugin found, such as those of a directory, even for requests with a " +
        "consumer. By default, they are used only for requests without a consumer or with an anonymous one.",
      default: false,
    }),
  },
  { description: "Accepts or refuses requests by the groups of their consumers. Set either `allow` or `deny`." },
);

export type AclConfig = Static<typeof schema>;

const NAMES = ["allow", "deny"];

function checkLists(config: RecordMembers): readonly Violation[] {
  const given = NAMES.filter((name) => !isEmptyValue(config[name]));
  const list = quotedList(NAMES.map((name) => `config.${name}`));
  return [
    ...(given.length === 1 ? [] : [recordViolation(`exactly one of these fields must be non-empty: ${list}`)]),
    ...(given.length === 0 ? [recordViolation(`at least one of these fields must be non-empty: ${list}`)] : []),
  ];
}

export const aclFacts = definePluginFacts({
  name: "acl",
  version: "0.1.0",
  priority: 950,
  protects: true,
  refuses: ["consumer"],
  check: checkLists,
  kongChecks: [{ only_one_of: ["config.allow", "config.deny"] }, { at_least_one_of: ["config.allow", "config.deny"] }],
  schema,
});
