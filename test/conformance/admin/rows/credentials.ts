/** Credentials of jwt, hmac-auth, basic-auth and mtls-auth, and ACL groups. */
import { deriveId } from "@sluice/model";
import { ids } from "../fixture.ts";
import type { AdminRow, AdminTable } from "../row.ts";

const consumer = { id: ids.consumer };
/** Ids of hmac-auth credentials, in ascending order. */
const [ann, bea] = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"];
const KONG_HASH = "0123456789abcdef0123456789abcdef01234567";
const generated = /^[A-Za-z0-9]{32}$/;
const PUBLIC_KEY =
  "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n";

export const credentialsTable: AdminTable = {
  of: "a credential",
  rows: [
    {
      does: "of jwt has a generated key and secret if none are given",
      ask: "POST /consumers/base/jwt",
      status: 201,
      has: { consumer, algorithm: "HS256", rsa_public_key: null, tags: null },
      matches: { key: generated, secret: generated },
      lacks: ["updated_at", "ttl"],
    },
    {
      does: "of jwt keeps the given key and secret",
      ask: "POST /consumers/base/jwt",
      form: "key=issuer&secret=s3cret&algorithm=HS512&tags[]=t",
      status: 201,
      has: { key: "issuer", secret: "s3cret", algorithm: "HS512", tags: ["t"] },
    },
    {
      does: "of jwt keeps a secret that ends in a line break",
      ask: "PUT /consumers/base/jwt/line",
      json: { secret: "a\n" },
      status: 200,
      has: { secret: "a\n" },
    },
    {
      does: "of jwt with a secret that ends in a line break is found",
      ask: "GET /jwts/line",
      status: 200,
      has: { secret: "a\n" },
    },
    {
      does: "of jwt is refused if its key exists already",
      ask: "POST /jwts",
      json: { key: "issuer", consumer },
      status: 409,
      message: `UNIQUE violation detected on '{key="issuer"}'`,
    },
    {
      does: "of jwt needs a public key for RS256",
      ask: "POST /consumers/base/jwt",
      json: { key: "rsa", algorithm: "RS256" },
      status: 400,
      has: { fields: { rsa_public_key: "required field missing" } },
    },
    {
      does: "of jwt refuses text that is not a public key",
      ask: "POST /consumers/base/jwt",
      json: { key: "rsa", algorithm: "RS256", rsa_public_key: "no key" },
      status: 400,
      has: { fields: { rsa_public_key: "invalid key" } },
    },
    {
      does: "of jwt accepts a public key",
      ask: "PUT /consumers/base/jwt/ed",
      json: { algorithm: "EdDSA", rsa_public_key: PUBLIC_KEY },
      status: 200,
      has: { key: "ed", algorithm: "EdDSA", rsa_public_key: PUBLIC_KEY },
    },
    { does: "of jwt is found by its key", ask: "GET /jwts/issuer", status: 200, has: { key: "issuer", consumer } },
    { does: "of jwt shows its consumer", ask: "GET /jwts/issuer/consumer", status: 200, has: { username: "base" } },
    {
      does: "of jwt keeps the members that a PATCH does not contain",
      ask: "PATCH /consumers/base/jwt/issuer",
      json: { secret: "other" },
      status: 200,
      has: { key: "issuer", secret: "other", algorithm: "HS512" },
    },
    { does: "of jwt is removed", ask: "DELETE /consumers/base/jwt/issuer", status: 204 },
    { does: "of jwt is not found after its removal", ask: "GET /jwts/issuer", status: 404 },
    {
      does: "of hmac-auth has a generated secret if none is given",
      ask: "POST /consumers/base/hmac-auth",
      form: `username=ann&id=${ann}`,
      status: 201,
      has: { id: ann, consumer, username: "ann" },
      matches: { secret: generated },
    },
    {
      does: "of hmac-auth is created by PUT with the user name in the URL",
      ask: "PUT /hmac-auths/bea",
      json: { id: bea, secret: "s", consumer },
      status: 200,
      has: { id: bea, username: "bea", secret: "s" },
    },
    {
      does: "of hmac-auth is listed on one page if the size allows it",
      ask: "GET /consumers/base/hmac-auth?size=2",
      status: 200,
      has: {
        data: [
          { id: ann, username: "ann", consumer },
          { id: bea, username: "bea", secret: "s", consumer },
        ],
        next: null,
      },
    },
    {
      does: "of basic-auth needs a user name and a password",
      ask: "POST /consumers/base/basic-auth",
      json: {},
      status: 400,
      has: { fields: { username: "required field missing", password: "required field missing" } },
    },
    {
      does: "of basic-auth is stored and shown with a hash of its password",
      ask: "POST /consumers/base/basic-auth",
      form: "username=ann&password=open%20sesame",
      status: 201,
      has: { consumer, username: "ann" },
      matches: { password: /^\$scrypt\$[\w+/]{22}\$[\w+/]{43}$/ },
    },
    {
      does: "of basic-auth gets a new hash with a new password",
      ask: "PATCH /basic-auths/ann",
      json: { password: "other" },
      status: 200,
      matches: { password: /^\$scrypt\$/ },
    },
    {
      does: "of basic-auth keeps a hash that Kong has made",
      ask: "PUT /consumers/base/basic-auth/ann",
      json: { password: KONG_HASH },
      status: 200,
      has: { username: "ann", password: KONG_HASH },
    },
    {
      does: "of basic-auth keeps its hash if only its user name is changed",
      ask: "PATCH /basic-auths/ann",
      json: { username: "anna" },
      status: 200,
      has: { username: "anna", password: KONG_HASH },
    },
    {
      does: "of basic-auth is found by its new user name",
      ask: "PATCH /basic-auths/anna",
      json: { username: "ann" },
      status: 200,
      has: { username: "ann", password: KONG_HASH },
    },
    {
      does: "of basic-auth is refused if its user name exists already",
      ask: "POST /consumers/base/basic-auth",
      json: { username: "ann", password: "x" },
      status: 409,
      message: `UNIQUE violation detected on '{username="ann"}'`,
    },
  ],
};

/** For four kinds of credentials and for ACL groups: the paths, two bodies, and the second entity's name in URLs. */
const kinds = [
  { top: "jwts", nested: "jwt", one: { key: "k1" }, two: { key: "k2" }, name: "k2" },
  {
    top: "basic-auths",
    nested: "basic-auth",
    one: { username: "u1", password: "p" },
    two: { username: "u2", password: "p" },
    name: "u2",
  },
  { top: "hmac-auths", nested: "hmac-auth", one: { username: "u1" }, two: { username: "u2" }, name: "u2" },
  { top: "acls", nested: "acls", one: { group: "g1" }, two: { group: "g2" }, name: "g2" },
  // mtls-auth credentials have no name, so the second is found by its id.
  {
    top: "mtls-auths",
    nested: "mtls-auth",
    one: { subject_name: "s1" },
    two: { id: "55555555-5555-4555-8555-555555555555", subject_name: "s2", ca_certificate: null },
    name: "55555555-5555-4555-8555-555555555555",
  },
] as const;

const entryId = "44444444-4444-4444-8444-444444444444";

export const consumerEntriesTable: AdminTable = {
  of: "a credential or ACL group of a consumer",
  rows: kinds.flatMap(({ top, nested, one, two, name }): AdminRow[] => [
    {
      does: `needs a consumer: POST /${top}`,
      ask: `POST /${top}`,
      json: one,
      status: 400,
      has: { fields: { consumer: "required field missing" } },
    },
    {
      does: `needs a consumer: PUT /${top}/{id}`,
      ask: `PUT /${top}/${entryId}`,
      json: one,
      status: 400,
      has: { fields: { consumer: "required field missing" } },
    },
    {
      does: `is created at its id: PUT /consumers/base/${nested}/{id}`,
      ask: `PUT /consumers/base/${nested}/${entryId}`,
      json: one,
      status: 200,
      has: { id: entryId, consumer },
    },
    {
      does: `is created: POST /consumers/base/${nested}`,
      ask: `POST /consumers/base/${nested}`,
      json: two,
      status: 201,
      has: { consumer },
    },
    {
      does: `is changed by its id: PATCH /${top}/{id}`,
      ask: `PATCH /${top}/${entryId}`,
      json: { tags: ["x"] },
      status: 200,
      has: { ...("password" in one ? { username: one.username } : one), tags: ["x"] },
    },
    {
      does: `is changed by its name: PATCH /consumers/base/${nested}/{name}`,
      ask: `PATCH /consumers/base/${nested}/${name}`,
      json: { tags: ["y"] },
      status: 200,
      has: { tags: ["y"], consumer },
    },
    {
      does: `shows its consumer: GET /${top}/{id}/consumer`,
      ask: `GET /${top}/${entryId}/consumer`,
      status: 200,
      has: { username: "base" },
    },
    {
      does: `is listed in pages: GET /${top}`,
      ask: `GET /${top}?size=1`,
      status: 200,
      matches: { next: new RegExp(`^/${top}\\?offset=[^&]+&size=1$`) },
    },
    {
      does: `is removed by its name: DELETE /consumers/base/${nested}/{name}`,
      ask: `DELETE /consumers/base/${nested}/${name}`,
      status: 204,
    },
    { does: `is removed by its id: DELETE /${top}/{id}`, ask: `DELETE /${top}/${entryId}`, status: 204 },
    {
      does: `is not listed after its removal: GET /${top}`,
      ask: `GET /${top}`,
      status: 200,
      body: { data: [], next: null },
    },
  ]),
};

const second = { id: deriveId("consumers", "second") };

export const secondConsumerTable: AdminTable = {
  of: "a second consumer",
  rows: [
    { does: "is created", ask: "POST /consumers", json: { username: "second" }, status: 201 },
    ...[consumer, second].flatMap(({ id }, index): AdminRow[] => [
      {
        does: `may have the same jwt secret as the first consumer (POST for consumer ${index + 1})`,
        ask: `POST /consumers/${id}/jwt`,
        json: { key: `key-${index}`, secret: "same" },
        status: 201,
      },
      {
        does: `may be in the same group as the first consumer (POST for consumer ${index + 1})`,
        ask: `POST /consumers/${id}/acls`,
        json: { group: "users" },
        status: 201,
      },
    ]),
    {
      does: "does not prevent the first consumer from getting a credential with a user name",
      ask: "PUT /consumers/base/basic-auth/ann",
      json: { password: KONG_HASH },
      status: 200,
    },
    {
      does: "may not have a credential with the user name of a credential of the first consumer",
      ask: "POST /consumers/second/basic-auth",
      json: { username: "ann", password: "x" },
      status: 409,
    },
    ...["GET", "PATCH", "DELETE"].map(
      (method): AdminRow => ({
        does: `has none of the first consumer's credentials: ${method}`,
        ask: `${method} /consumers/second/basic-auth/ann`,
        ...(method === "PATCH" && { json: { password: "x" } }),
        status: 404,
      }),
    ),
    {
      does: "does not get, without a new password, a credential whose hash depends on the first consumer",
      ask: "PATCH /basic-auths/ann",
      json: { consumer: { username: "second" } },
      status: 400,
      has: { fields: { "@entity": ["all or none of these fields must be set: 'password', 'consumer.id'"] } },
    },
    {
      does: "gets a credential of the first consumer if the request sets a new password",
      ask: "PATCH /basic-auths/ann",
      json: { consumer: { username: "second" }, password: "open sesame" },
      status: 200,
      has: { consumer: second },
      matches: { password: /^\$scrypt\$/ },
      keep: { header: "etag", as: "tag" },
    },
    {
      does: "keeps the hash if the same password is given again",
      ask: "PATCH /basic-auths/ann",
      json: { password: "open sesame" },
      status: 200,
    },
    {
      does: "has an unchanged credential after the same password was given",
      ask: "GET /basic-auths/ann",
      headers: [["If-None-Match", "{tag}"]],
      status: 304,
    },
    {
      does: "loses a credential to the first consumer without a new password if its hash does not depend on a consumer",
      ask: "PATCH /basic-auths/ann",
      json: { consumer },
      status: 200,
      has: { consumer },
    },
  ],
};

export const consumerGroupsTable: AdminTable = {
  of: "a consumer's ACL group",
  rows: [
    {
      does: "is created",
      ask: "POST /consumers/base/acls",
      form: "group=admins&tags[]=t",
      status: 201,
      has: { consumer, group: "admins", tags: ["t"] },
      lacks: ["updated_at"],
    },
    {
      does: "needs a name",
      ask: "POST /consumers/base/acls",
      json: {},
      status: 400,
      has: { fields: { group: "required field missing" } },
    },
    {
      does: "is listed with its consumer",
      ask: "GET /consumers/base/acls",
      status: 200,
      has: { data: [{ group: "admins", consumer }], next: null },
    },
    { does: "is listed with all groups", ask: "GET /acls", status: 200, has: { data: [{ group: "admins" }] } },
    {
      does: "is refused if the consumer is already in the group",
      ask: "POST /consumers/base/acls",
      form: "group=admins",
      status: 409,
      message: `UNIQUE violation detected on '{consumer={id="${ids.consumer}"},group="admins"}'`,
    },
    {
      does: "is found by its name below its consumer",
      ask: "GET /consumers/base/acls/admins",
      status: 200,
      has: { group: "admins" },
    },
    { does: "is not found by its name alone", ask: "GET /acls/admins", status: 404 },
    {
      does: "is created by PUT with the name in the URL",
      ask: "PUT /consumers/base/acls/staff",
      json: {},
      status: 200,
      has: { group: "staff", consumer },
    },
    { does: "is removed by its name", ask: "DELETE /consumers/base/acls/admins", status: 204 },
    { does: "is removed with its consumer", ask: "DELETE /consumers/base", status: 204 },
    {
      does: "is not listed after its consumer was removed",
      ask: "GET /acls",
      status: 200,
      body: { data: [], next: null },
    },
  ],
};
