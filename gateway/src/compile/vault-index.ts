/** The vaults by prefix, and the plugins whose configs refer to them. */
import type { Difference, Vault } from "@sluice/model/serving";
import { GroupIndex } from "./identities/group-index.ts";

interface VaultUser {
  readonly id: string;
  /** The prefixes of the vaults that the plugin's config refers to, existing or not. */
  readonly vaults: readonly string[];
}

/** A plugin and one of the vaults that it refers to. */
interface VaultUse {
  /** The id of the plugin. */
  readonly id: string;
  readonly prefix: string;
}

export class VaultIndex {
  readonly #byPrefix: GroupIndex<Vault>;
  readonly #uses: GroupIndex<VaultUse>;

  private constructor(byPrefix: GroupIndex<Vault>, uses: GroupIndex<VaultUse>) {
    this.#byPrefix = byPrefix;
    this.#uses = uses;
  }

  static readonly empty = new VaultIndex(
    new GroupIndex(({ prefix }) => prefix),
    new GroupIndex(({ prefix }) => prefix),
  );

  at(prefix: string): Vault | undefined {
    return this.#byPrefix.of(prefix)[0];
  }

  /** The ids of the plugins that refer to a changed vault, either by its old prefix or by its new prefix. */
  usersOf(changes: readonly Difference<Vault>[]): readonly string[] {
    const prefixes = new Set(
      changes.flatMap(({ before, after }) => [before, after].flatMap((one) => one?.prefix ?? [])),
    );
    return [...new Set([...prefixes].flatMap((prefix) => this.#uses.of(prefix).map(({ id }) => id)))];
  }

  /** The index after these changes; the same object when no vault changes. */
  withVaults(changes: readonly Difference<Vault>[]): VaultIndex {
    const byPrefix = this.#byPrefix.with(changes);
    return byPrefix === this.#byPrefix ? this : new VaultIndex(byPrefix, this.#uses);
  }

  /** The index after these changes; the same object when no plugin that refers to a vault changes. */
  withUsers(changes: readonly Difference<VaultUser>[]): VaultIndex {
    const uses = this.#uses.with([
      ...changes.flatMap(({ before }) => usesOf(before).map((use) => ({ key: use.id, before: use, after: undefined }))),
      ...changes.flatMap(({ after }) => usesOf(after).map((use) => ({ key: use.id, before: undefined, after: use }))),
    ]);
    return uses === this.#uses ? this : new VaultIndex(this.#byPrefix, uses);
  }
}

const usesOf = (user: VaultUser | undefined): readonly VaultUse[] =>
  user?.vaults.map((prefix) => ({ id: user.id, prefix })) ?? [];
