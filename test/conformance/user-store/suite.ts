/** The conformance suite of `UserStore`. The test of each implementation calls it. */
import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { after, before, describe, it } from "node:test";
import type { Database } from "../../../user-api/src/store/database.ts";
import { openUserStore } from "../../../user-api/src/store/sql-store.ts";
import { MAX_POSTS, type Post, type User, type UserStore } from "../../../user-api/src/store/store.ts";

interface SuiteOptions {
  /** The implementation's name, for the report. */
  readonly name: string;
  /** A new, empty database. */
  readonly open: () => Promise<Database>;
}

export function userStoreSuite({ name, open }: SuiteOptions): void {
  describe(`user store on ${name}`, () => {
    let database: Database;
    let store: UserStore;
    const queries: string[] = [];
    const user = (given: Partial<User> = {}): User => {
      const id = randomUUIDv7();
      return { id, name: "Ann", email: `${id}@example.org`, ...given };
    };
    let posts = 0;
    async function post(userId: string, title: string | null): Promise<Post> {
      // UUIDv7 values of the same millisecond have no defined order, so these ids are numbered.
      const added = { id: `01a1fd36-0000-7000-8000-${String(++posts).padStart(12, "0")}`, title };
      assert.equal(await store.addPost(userId, added), "added");
      return added;
    }

    before(async () => {
      const real = await open();
      database = {
        ...real,
        query(text, values) {
          queries.push(text);
          return real.query(text, values);
        },
      };
      store = await openUserStore(database);
    });
    after(() => store?.close());

    it("shows a user at once, and all users oldest first", async () => {
      const ann = user({ id: "01a1fd36-0000-7000-8000-000000000001" });
      const bob = user({ id: "01a1fd36-0000-7000-8000-000000000002", name: "Bob 🐙 O'Neil" });
      assert.equal(await store.add(bob), true);
      assert.deepEqual(await store.user(bob.id), bob);
      assert.equal(await store.add(ann), true);
      assert.deepEqual(await store.users(), [ann, bob]);
    });

    it("returns a page of users: at most the requested number, after an id that need not exist", async () => {
      const all = await store.users();
      assert.ok(all.length >= 2);
      assert.deepEqual(await store.users({ first: 1 }), all.slice(0, 1));
      assert.deepEqual(await store.users({ after: all[0]?.id }), all.slice(1));
      assert.deepEqual(await store.users({ after: "00000000-0000-0000-0000-000000000001", first: 2 }), all.slice(0, 2));
      assert.deepEqual(await store.users({ after: "ffffffff-ffff-ffff-ffff-ffffffffffff" }), []);
    });

    it("has no user for an unknown id, whatever it looks like", async () => {
      for (const id of [randomUUIDv7(), "", "1", "' or true --", "\u0000", "x".repeat(10_000)]) {
        assert.equal(await store.user(id), null, JSON.stringify(id.slice(0, 40)));
      }
    });

    it("accepts an e-mail address only once, regardless of case and of how an accent is written", async () => {
      const id = randomUUIDv7();
      assert.equal(await store.add(user({ email: `Zoé.${id}@Example.org` })), true);
      for (const email of [`Zoé.${id}@Example.org`, `ZOÉ.${id}@EXAMPLE.ORG`, `zoe\u0301.${id}@example.org`]) {
        assert.equal(await store.add(user({ email })), false, email);
      }
      assert.equal(await store.add(user({ email: `${id}.νίκος@example.org` })), true);
      for (const email of [`${id}.ΝΊΚΟΣ@example.org`, `${id}.νίκοσ@example.org`]) {
        assert.equal(await store.add(user({ email })), false, email);
      }
    });

    const pairs = [
      ["an accented letter that has no capital form of its own", "ταΐζω", "ΤΑΪ\u0301ΖΩ"],
      ["a letter whose capital form is two code points", "ǰan", "J\u030can"],
      ["a letter whose capital form is two letters", "straße", "STRASSE"],
      ["one of two letters with the same capital form", "ſam", "sam"],
    ] as const;
    for (const [what, one, other] of pairs) {
      it(`accepts an e-mail address only once if it contains ${what}`, async () => {
        const id = randomUUIDv7();
        const address = (name: string): string => `${name}.${id}@example.org`.normalize("NFC");
        assert.equal(await store.add(user({ email: address(one) })), true);
        for (const email of [one, other, one.toUpperCase(), other.toLowerCase()].map(address)) {
          assert.equal(await store.add(user({ email })), false, email);
        }
      });
    }

    it("accepts only one of many simultaneous users with the same address", async () => {
      const email = `${randomUUIDv7()}@example.org`;
      const won = await Promise.all(Array.from({ length: 8 }, () => store.add(user({ email }))));
      assert.equal(won.filter(Boolean).length, 1);
    });

    it("changes only the given values of a user", async () => {
      const ann = user();
      await store.add(ann);
      assert.deepEqual(await store.update(ann.id, { name: "Anna" }), { ...ann, name: "Anna" });
      const email = `new.${ann.id}@example.org`;
      assert.deepEqual(await store.update(ann.id, { email }), { ...ann, name: "Anna", email });
      assert.deepEqual(await store.update(ann.id, {}), { ...ann, name: "Anna", email });
      assert.deepEqual(await store.user(ann.id), { ...ann, name: "Anna", email });
      assert.equal(await store.add(user({ email: ann.email })), true, "the former address is free");
    });

    it("gives a user no address that another user has, even if both are changed at the same time", async () => {
      const [ann, bob, cy] = [user(), user(), user()];
      for (const one of [ann, bob, cy]) await store.add(one);
      assert.equal(await store.update(ann.id, { email: bob.email.toUpperCase() }), "taken");
      const own = ann.email.toUpperCase();
      assert.deepEqual(await store.update(ann.id, { email: own }), { ...ann, email: own });
      const email = `one.${cy.id}@example.org`;
      const results = await Promise.all([ann, bob, cy].map(({ id }) => store.update(id, { email })));
      assert.equal(results.filter((result) => result === "taken").length, 2);
    });

    it("deletes a user with all posts, and returns them as they were", async () => {
      const [ann, bob] = [user(), user()];
      for (const one of [ann, bob]) await store.add(one);
      const written = [await post(ann.id, "first"), await post(ann.id, "second")];
      const kept = await post(bob.id, "kept");
      assert.deepEqual(await store.remove(ann.id), { ...ann, posts: written });
      assert.equal(await store.user(ann.id), null);
      assert.deepEqual(await store.postsOf([ann.id, bob.id]), [[], [kept]]);
      assert.equal(await store.removePost(written[0]?.id ?? ""), null);
    });

    it("changes and deletes single posts", async () => {
      const ann = user();
      await store.add(ann);
      const [first, second] = [await post(ann.id, "first"), await post(ann.id, null)];
      assert.deepEqual(await store.updatePost({ ...first, title: "1st" }), { ...first, title: "1st" });
      assert.deepEqual(await store.removePost(second.id), second);
      assert.deepEqual(await store.postsOf([ann.id]), [[{ ...first, title: "1st" }]]);
    });

    it("adds at most the maximum number of posts to a user", async () => {
      const ann = user();
      await store.add(ann);
      await database.query(
        "insert into posts (id, user_id, title) select gen_random_uuid(), $1, 'x' from generate_series(2, $2::int)",
        [ann.id, MAX_POSTS],
      );
      await post(ann.id, "the last one");
      assert.equal(await store.addPost(ann.id, { id: randomUUIDv7(), title: "one more" }), "full");
    });

    it("changes nothing for an unknown id, whatever it looks like", async () => {
      for (const id of [randomUUIDv7(), "", "1", "' or true --", "\u0000"]) {
        const post = { id: randomUUIDv7(), title: "x" };
        assert.deepEqual(
          [
            await store.update(id, { name: "x" }),
            await store.remove(id),
            await store.addPost(id, post),
            await store.updatePost({ id, title: "x" }),
            await store.removePost(id),
          ],
          ["unknown", null, "unknown", null, null],
          JSON.stringify(id),
        );
      }
    });

    it("reads the posts of many users in one query, in the order of the requested users", async () => {
      const [ann, bob, eve] = [user(), user(), user()];
      for (const one of [ann, bob, eve]) await store.add(one);
      const first = await post(eve.id, "first");
      const untitled = await post(ann.id, null);
      const second = await post(eve.id, "second");
      queries.length = 0;
      assert.deepEqual(await store.postsOf([eve.id, bob.id, ann.id]), [[first, second], [], [untitled]]);
      assert.equal(queries.length, 1);
    });

    it("reads a user and their posts, oldest first, in one query for all simultaneous callers", async () => {
      const [ann, bob] = [user(), user()];
      for (const one of [ann, bob]) await store.add(one);
      const written = [await post(ann.id, "first"), await post(ann.id, null)];
      queries.length = 0;
      const nobody = store.user(randomUUIDv7(), { posts: true });
      assert.deepEqual(await Promise.all([ann, bob].map(({ id }) => store.user(id, { posts: true }))), [
        { ...ann, posts: written },
        { ...bob, posts: [] },
      ]);
      assert.equal(await nobody, null);
      assert.equal(queries.length, 1);
    });

    it("keeps its users when the database is opened and migrated again", async () => {
      const ann = user();
      await store.add(ann);
      const again = await openUserStore({ ...database, close: async () => undefined });
      assert.deepEqual(await again.user(ann.id), ann);
    });

    it("rebuilds the e-mail keys (email_key) that an older version stored, and keeps all users", async () => {
      const tag = randomUUIDv7();
      const old = [
        ["Ann@Example.org", "ann@example.org"],
        ["straße@example.org", "straße@example.org"],
        // Two spellings that the former key distinguished: the older user gets the new key.
        ["ταΐζω@example.org", "ταΐζω@example.org"],
        ["ΤΑΪ\u0301ΖΩ@example.org", "ταϊ\u0301ζω@example.org"],
        // Two spellings: the younger user has the new key already.
        ["ſam@example.org", "ſam@example.org"],
        ["sam@example.org", "sam@example.org"],
        // Two spellings of a domain.
        ["zoe@exämple.org", "zoe@exämple.org"],
        ["zoe@ｅｘämple。org", "zoe@ｅｘämple。org"],
      ];
      const ids = old.map(() => randomUUIDv7()).toSorted();
      const rows = old.map(([email, key], n) => ({ id: ids[n], email: `${tag}${email}`, key: `${tag}${key}` }));
      for (const { id, email, key } of rows) {
        const values = [id, "Ann", email, key];
        await database.query("insert into users (id, name, email, email_key) values ($1, $2, $3, $4)", values);
      }
      await database.query("delete from user_api_migrations where step > 1");
      const before = await store.users();
      // Replicas that start at the same time.
      const migrated = await Promise.all(
        Array.from({ length: 3 }, () => openUserStore({ ...database, close: async () => undefined })),
      );
      assert.deepEqual(await store.users(), before);
      const keys = await database.query("select email_key from users where email like $1 order by id", [`${tag}%`]);
      assert.deepEqual(
        keys.map(({ email_key }) => String(email_key).slice(tag.length)),
        [
          "ann@example.org",
          "strasse@example.org",
          "ταΐζω@example.org",
          "ταϊ\u0301ζω@example.org",
          "ſam@example.org",
          "sam@example.org",
          "zoe@xn--exmple-cua.org",
          "zoe@ｅｘämple。org",
        ],
      );
      for (const again of migrated) {
        for (const { email } of rows) assert.equal(await again.add(user({ email: email.toUpperCase() })), false, email);
      }
    });

    it("refuses an address that a replica of the previous version has taken with the previous form of the key", async () => {
      const domain = `exämple-${randomUUIDv7()}.org`;
      const values = [randomUUIDv7(), "Ann", `Ann@${domain}`, `ann@${domain}`];
      await database.query("insert into users (id, name, email, email_key) values ($1, $2, $3, $4)", values);
      for (const spelled of [domain, domain.toUpperCase()])
        assert.equal(await store.add(user({ email: `ann@${spelled}` })), false, spelled);
      assert.equal(await store.add(user({ email: `bob@${domain}` })), true);
    });

    it("refuses an address that differs from another user's only in case and in the spelling of its domain", async () => {
      const tag = randomUUIDv7();
      for (const [taken, ...spellings] of [
        [`${tag}.org`, `${tag}．ｏｒｇ`, `${tag}。ORG`],
        [`exämple.${tag}.org`, `xn--exmple-cua.${tag}.org`, `EXA\u0308MPLE.${tag}.org`, `ｅxämple.${tag}｡org`],
      ] as const) {
        assert.equal(await store.add(user({ email: `ann@${taken}` })), true);
        for (const spelled of spellings)
          assert.equal(await store.add(user({ email: `Ann@${spelled}` })), false, spelled);
      }
    });

    it("rebuilds keys even if another writer takes a key between the read and the write", async () => {
      const email = `straße.${randomUUIDv7()}@example.org`;
      const [before, key] = [email, email.replace("ß", "ss")];
      const insert = (key: string) =>
        database.query("insert into users (id, name, email, email_key) values ($1, 'Ann', $2, $3)", [
          randomUUIDv7(),
          email,
          key,
        ]);
      await insert(before);
      await database.query("delete from user_api_migrations where step > 1");
      const raced: Database = {
        ...database,
        close: async () => undefined,
        async query(text, values) {
          if (!text.startsWith("update users") || values?.[1] !== key) return database.query(text, values);
          await insert(key);
          // Fails as on a server where another user has taken the key between the check and the update.
          return database.query("update users set email_key = $2 where id = $1", values);
        },
      };
      const migrated = await openUserStore(raced);
      const keys = await database.query("select email_key from users where email = $1", [email]);
      assert.deepEqual(new Set(keys.map((row) => row.email_key)), new Set([before, key]));
      assert.equal(await migrated.add(user({ email })), false);
    });

    it("runs a script completely or not at all", async () => {
      await assert.rejects(database.script("create table half (id int); select 1 / 0;"), /division by zero/);
      await assert.rejects(database.query("select * from half"), /"half" does not exist/);
    });

    it("answers a ping", async () => {
      await store.ping();
    });
  });
}
