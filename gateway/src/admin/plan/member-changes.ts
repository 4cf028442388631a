/** Finds the members that differ between two versions of an entity. */
import {
  type Collection,
  canonicalJson,
  configFactsOf,
  entities,
  entitySecrets,
  type PerCollection,
  type SchemaNode,
  secretMembers,
} from "@sluice/model";

export interface MemberChange {
  /** The path of the member, with dots between the names of nested records: `config.minute`. */
  readonly member: string;
  readonly before: unknown;
  readonly after: unknown;
}

type Members = Readonly<Record<string, unknown>>;

/** Members that derive from other changes or from the clock. */
const derivedMembers: ReadonlySet<string> = new Set(["updated_at", "_sluice"]);

const SECRET = "[redacted]";
const secrets: PerCollection<readonly string[]> = {
  ...entitySecrets,
  services: ["upstream_headers"],
};

/** The members that differ, without secret values. Both versions must include the defaults of unset members. */
export function changesBetween(collection: Collection, before: object, after: object): readonly MemberChange[] {
  const inConfig = secretMembers(collection, after).map((path) => ["config", ...path].join("."));
  const hidden = [...secrets[collection], ...inConfig];
  // A record that is set or unset as a whole may contain a secret.
  const isSecret = (member: string) => hidden.some((secret) => secret === member || secret.startsWith(`${member}.`));
  return difference(before as Members, after as Members, "")
    .filter(({ member }) => !derivedMembers.has(member))
    .map((change) => (isSecret(change.member) ? redact(change) : change));
}

/** A secret is shown as set or unset, without its value. */
const redact = ({ member, before, after }: MemberChange): MemberChange => ({
  member,
  before: before === null ? null : SECRET,
  after: after === null ? null : SECRET,
});

function difference(before: Members, after: Members, prefix: string): readonly MemberChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name) => {
    const [old, fresh] = [own(before, name), own(after, name)];
    if (canonicalJson(old) === canonicalJson(fresh)) return [];
    const member = `${prefix}${name}`;
    return isPlain(old) && isPlain(fresh)
      ? difference(old, fresh, `${member}.`)
      : [{ member, before: old, after: fresh }];
  });
}

const own = (members: Members, name: string): unknown =>
  Object.hasOwn(members, name) ? (members[name] ?? null) : null;

const isPlain = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const identity: ReadonlySet<string> = new Set(["id", "created_at", "name", "username"]);

/**
 * Members that differ from the defaults, as a flat record. Left out are id and creation time and, except for plugins,
 * the name or username, which the plan shows separately.
 */
export function setMembers(collection: Collection, entity: object): Members {
  const defaults = defaultsOf(entities[collection].schema);
  const facts = configFactsOf(collection, entity);
  const config = facts === undefined ? {} : { config: defaultsOf(facts.schema) };
  const set = changesBetween(collection, { ...defaults, ...config }, entity);
  const said = collection === "plugins" ? ["id", "created_at"] : [...identity];
  return Object.fromEntries(
    set.filter(({ member }) => !said.includes(member)).map(({ member, after }) => [member, after]),
  );
}

function defaultsOf(schema: SchemaNode): Members {
  return Object.fromEntries(
    Object.entries(schema.properties ?? {}).map(([name, member]) => {
      const isRecord =
        member.properties !== undefined && member.reference === undefined && member.default !== undefined;
      return [name, isRecord && member.nullable !== true ? defaultsOf(member) : (member.default ?? null)];
    }),
  );
}
