/** Credentials of a plugin that a user has written. */
import { ids } from "../fixture.ts";
import type { AdminTable } from "../row.ts";

const consumer = { id: ids.consumer };
const id = "44444444-4444-4444-8444-444444444444";
const one = `/consumers/base/plugin-credentials/${id}`;

export const pluginCredentialsTable: AdminTable = {
  of: "a credential of a user's plugin",
  rows: [
    {
      does: "is created below its consumer, with the defaults of its plugin",
      ask: "POST /consumers/base/plugin-credentials",
      json: { id, plugin: "device-token", key: "tok-1", config: { pin: "1234" }, tags: ["blue"] },
      status: 201,
      has: {
        id,
        consumer,
        plugin: "device-token",
        key: "tok-1",
        config: { model: "any", pin: "1234" },
        tags: ["blue"],
      },
      lacks: ["updated_at", "ttl", "_sluice"],
    },
    {
      does: "is created by a form, whose values have the types of the plugin's schema",
      ask: "POST /plugin-credentials",
      form: `plugin=device-token&key=12345&config.model=12&config.pin=&consumer.id=${ids.consumer}`,
      status: 201,
      has: { key: "12345", config: { model: "12", pin: null } },
    },
    {
      does: "is found by its id",
      ask: `GET /plugin-credentials/${id}`,
      status: 200,
      has: { key: "tok-1", consumer, config: { model: "any", pin: "1234" } },
    },
    {
      does: "is not found by its key, because credentials of several plugins may have the same key",
      ask: "GET /plugin-credentials/tok-1",
      status: 400,
      message: `invalid primary key: '{id="expected a valid UUID"}'`,
    },
    {
      does: "shows its consumer",
      ask: `GET /plugin-credentials/${id}/consumer`,
      status: 200,
      has: { username: "base" },
    },
    {
      does: "is listed below its consumer",
      ask: "GET /consumers/base/plugin-credentials?tags=blue",
      status: 200,
      has: { data: [{ id, plugin: "device-token", config: { model: "any", pin: "1234" } }], next: null },
    },
    {
      does: "keeps the members of its config that a PATCH does not contain",
      ask: `PATCH ${one}`,
      form: "config.model=x1",
      status: 200,
      has: { key: "tok-1", config: { model: "x1", pin: "1234" } },
    },
    {
      does: "gets a new secret in its config",
      ask: `PATCH ${one}`,
      json: { config: { pin: "5678" } },
      status: 200,
      has: { config: { model: "x1", pin: "5678" } },
    },
    {
      does: "shows the new secret",
      ask: `GET ${one}`,
      status: 200,
      has: { key: "tok-1", config: { model: "x1", pin: "5678" } },
    },
    {
      does: "is replaced by PUT, with a new key",
      ask: `PUT ${one}`,
      json: { plugin: "device-token", key: "tok-2" },
      status: 200,
      has: { id, key: "tok-2", config: { model: "any", pin: null }, tags: null },
    },
    {
      does: "is refused if another credential of the plugin has its key",
      ask: "POST /consumers/base/plugin-credentials",
      json: { plugin: "device-token", key: "tok-2" },
      status: 409,
      message: `UNIQUE violation detected on '{key="tok-2",plugin="device-token"}'`,
    },
    {
      does: "needs a plugin and a key",
      ask: "POST /consumers/base/plugin-credentials",
      json: {},
      status: 400,
      has: { fields: { plugin: "required field missing", key: "required field missing" } },
    },
    {
      does: "needs a consumer",
      ask: "POST /plugin-credentials",
      json: { plugin: "device-token", key: "tok-3" },
      status: 400,
      has: { fields: { consumer: "required field missing" } },
    },
    {
      does: "is refused with a config and a key that the plugin's schemas refuse",
      ask: "POST /consumers/base/plugin-credentials",
      json: { plugin: "device-token", key: "t", config: { model: 1, size: 2 } },
      status: 400,
      has: {
        fields: { key: "length must be at least 4", config: { model: "expected a string", size: "unknown field" } },
      },
    },
    {
      does: "is refused by the plugin's check of several members",
      ask: "POST /consumers/base/plugin-credentials",
      json: { plugin: "device-token", key: "tok-3", config: { model: "locked" } },
      status: 400,
      has: { fields: { config: { pin: "required for locked devices" } } },
    },
    {
      does: "is refused for a plugin that has no credentials of its own",
      ask: "POST /consumers/base/plugin-credentials",
      json: { plugin: "cors", key: "tok-3" },
      status: 400,
      matches: { message: /plugin: the plugin cors declares no credentials/ },
    },
    {
      does: "is refused for an unknown plugin",
      ask: "POST /consumers/base/plugin-credentials",
      json: { plugin: "device-tokn", key: "tok-3" },
      status: 400,
      matches: { message: /plugin 'device-tokn' not enabled, did you mean device-token\?/ },
    },
    { does: "is removed", ask: `DELETE ${one}`, status: 204 },
    { does: "is not found after its removal", ask: `GET ${one}`, status: 404 },
  ],
};
