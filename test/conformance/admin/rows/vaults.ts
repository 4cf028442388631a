/** Vaults: the prefixes by which configs of plugins refer to environment variables of the nodes. */
import { deriveId } from "@sluice/model";
import type { AdminTable } from "../row.ts";

const mine = { id: deriveId("vaults", "my-env") };

export const vaultsTable: AdminTable = {
  of: "a vault",
  rows: [
    {
      does: "is created by POST",
      ask: "POST /vaults",
      json: { ...mine, prefix: "my-env", name: "env", description: "of the team", config: { prefix: "APP_" } },
      status: 201,
      has: {
        ...mine,
        prefix: "my-env",
        name: "env",
        description: "of the team",
        config: { prefix: "APP_" },
        tags: null,
      },
    },
    {
      does: "is created by PUT, and has no config if the body has none",
      ask: "PUT /vaults/other-env",
      json: { name: "env" },
      status: 200,
      has: { prefix: "other-env", name: "env", description: null, config: null },
    },
    {
      does: "shows every member of a given config, as null if the request does not set it",
      ask: "PUT /vaults/other-env",
      json: { name: "env", config: {} },
      status: 200,
      has: { config: { prefix: null } },
    },
    {
      does: "is created from a form",
      ask: "POST /vaults",
      form: "prefix=form-env&name=env&config.prefix=secrets-",
      status: 201,
      has: { config: { prefix: "secrets-" } },
    },
    { does: "is listed in pages", ask: "GET /vaults?size=1", status: 200, matches: { next: /^\/vaults\?offset=/ } },
    { does: "is found by its prefix", ask: "GET /vaults/my-env", status: 200, has: mine },
    { does: "is found by its id", ask: `GET /vaults/${mine.id}`, status: 200, has: { prefix: "my-env" } },
    { does: "is not found by an unknown prefix", ask: "GET /vaults/not-found", status: 404 },
    {
      does: "is changed by PATCH",
      ask: "PATCH /vaults/my-env",
      json: { config: { prefix: "CERT_" }, tags: ["blue"] },
      status: 200,
      has: { ...mine, config: { prefix: "CERT_" }, description: "of the team", tags: ["blue"] },
    },
    {
      does: "keeps its id and its config if PATCH changes its prefix",
      ask: "PATCH /vaults/form-env",
      json: { prefix: "renamed-env" },
      status: 200,
      has: { id: deriveId("vaults", "form-env"), prefix: "renamed-env", config: { prefix: "secrets-" } },
    },
    {
      does: "cannot have the prefix of another one",
      ask: "POST /vaults",
      json: { prefix: "my-env", name: "env" },
      status: 409,
      message: `UNIQUE violation detected on '{prefix="my-env"}'`,
    },
    {
      does: "needs a kind, and its config is not checked without one",
      ask: "POST /vaults",
      json: { prefix: "a-vault", config: { any: 1 } },
      status: 400,
      message: "schema violation (name: required field missing)",
    },
    {
      does: "cannot be of a kind that Sluice does not have",
      ask: "POST /vaults",
      json: { prefix: "a-vault", name: "hcv", config: { host: "vault.test" } },
      status: 400,
      message: /^schema violation \(name: vault 'hcv' is not installed: put the secret into an environment variable/,
    },
    {
      does: "cannot have a prefix that is invalid in a reference",
      ask: "POST /vaults",
      json: { prefix: "My_env", name: "env" },
      status: 400,
      has: { code: 2, fields: { prefix: "invalid value: My_env" } },
    },
    {
      does: "cannot have a kind as its prefix",
      ask: `PUT /vaults/${mine.id}`,
      json: { prefix: "env", name: "env" },
      status: 400,
      has: { code: 2, fields: { prefix: "must not be one of: env" } },
    },
    {
      does: "cannot be created under a prefix that is a kind",
      ask: "PUT /vaults/env",
      json: { name: "env" },
      status: 400,
      has: { code: 10, name: "invalid unique prefix", message: "must not be one of: env" },
    },
    {
      does: "cannot have members in its config that its kind does not have",
      ask: "PATCH /vaults/my-env",
      json: { config: { base64_decode: true } },
      status: 400,
      has: { code: 2, fields: { config: { base64_decode: "unknown field" } } },
    },
    {
      does: "need not exist when a plugin refers to it",
      ask: "POST /plugins",
      json: { name: "loggly", config: { key: "{vault://no-env/key}" } },
      status: 201,
      has: { config: { key: "{vault://no-env/key}" } },
    },
    { does: "is removed by its prefix", ask: "DELETE /vaults/my-env", status: 204 },
    { does: "is removed without an error if it does not exist", ask: "DELETE /vaults/my-env", status: 204 },
    { does: "is no longer found", ask: `GET /vaults/${mine.id}`, status: 404 },
    { does: "cannot be changed by a PATCH of the list", ask: "PATCH /vaults", json: {}, status: 405 },
  ],
};
