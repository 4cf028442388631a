/** Bodies that cannot be read. */
import type { Table } from "../row.ts";

const type = (value: string): readonly [string, string] => ["Content-Type", value];
const unparsable = { message: "Cannot parse JSON body" };
const unsupported = { message: "Unsupported media type" };
const MiB = 1024 * 1024;

export const bodies: Table = {
  of: "a body",
  rows: [
    {
      does: "may be JSON with a charset",
      ask: "POST /services",
      json: { name: "charset", host: "a" },
      headers: [type("application/json; charset=utf-8")],
      status: 201,
    },
    {
      does: "may have a type in capitals",
      ask: "POST /services",
      json: { name: "capitals", host: "a" },
      headers: [type("Application/JSON")],
      status: 201,
    },
    { does: "may be missing", ask: "POST /services", status: 400, has: { code: 2 } },
    { does: "may be an empty form", ask: "POST /services", form: "", status: 400, has: { code: 2 } },
    { does: "must be JSON when it says so", ask: "POST /services", json: "{", status: 400, body: unparsable },
    {
      does: "must not be empty when it says that it is JSON",
      ask: "POST /services",
      json: "",
      status: 400,
      body: unparsable,
    },
    { does: "must be a record", ask: "POST /services", json: [1], status: 400, body: unparsable },
    { does: "must be more than null", ask: "POST /services", json: "null", status: 400, body: unparsable },
    {
      does: "must be UTF-8 as JSON",
      ask: "POST /services",
      bytes: Buffer.from([0x7b, 0xff, 0x7d]),
      headers: [type("application/json")],
      status: 400,
      body: unparsable,
    },
    {
      does: "must be UTF-8 as a form",
      ask: "POST /services",
      bytes: Buffer.from([0x61, 0x3d, 0xff]),
      headers: [type("application/x-www-form-urlencoded")],
      status: 400,
      message: /not UTF-8/,
    },
    {
      does: "must be UTF-8 inside a form's encoding",
      ask: "POST /services",
      form: "name=%ff",
      status: 400,
      message: /UTF-8/,
    },
    {
      does: "must not be nested without end",
      ask: "POST /plugins",
      json: `{"name":"x","config":${"[".repeat(100_000)}${"]".repeat(100_000)}}`,
      status: 400,
      body: unparsable,
    },
    {
      does: "must not hold very many values",
      ask: "POST /services",
      json: Object.fromEntries(Array.from({ length: 10_001 }, (_, index) => [`k${index}`, index])),
      status: 400,
      body: { message: "the body holds more than 10000 values" },
    },
    {
      does: "must not ask for an answer of very many places",
      ask: "POST /routes",
      form: "paths[999999999999]=/a",
      status: 400,
      message: /paths: list positions are between 1 and 1000/,
    },
    {
      does: "must not be a form of very many parts",
      ask: "POST /services",
      form: "a=1&".repeat(2000),
      status: 400,
      message: /more than 1000 arguments/,
    },
    {
      does: "must not be nested deeply in a form",
      ask: "POST /services",
      form: "a.b.c.d.e.f.g.h.i=1",
      status: 400,
      message: /nested deeper than 8 levels/,
    },
    { does: "must have a type", ask: "POST /services", bytes: Buffer.from("name=a"), status: 415, body: unsupported },
    {
      does: "must not be plain text",
      ask: "POST /services",
      bytes: Buffer.from("name=a"),
      headers: [type("text/plain")],
      status: 415,
      body: unsupported,
    },
    {
      does: "must not be XML",
      ask: "POST /services",
      bytes: Buffer.from("<a/>"),
      headers: [type("application/xml")],
      status: 415,
      body: unsupported,
    },
    {
      does: "must not have a type that is none",
      ask: "POST /services",
      bytes: Buffer.from("a=b"),
      headers: [type("nonsense")],
      status: 415,
      body: unsupported,
    },
    {
      does: "must not have two types",
      ask: "POST /services",
      bytes: Buffer.from("{}"),
      headers: [type("application/json"), type("text/plain")],
      status: 400,
      message: /Content-Type/,
    },
    {
      does: "may be as large as 10 MiB",
      ask: "POST /services",
      form: `host=${"a".repeat(10 * MiB - 5)}`,
      status: 400,
      has: { fields: { host: "length must be at most 255" } },
    },
    {
      does: "must not be larger than 10 MiB",
      ask: "POST /services",
      form: `host=${"a".repeat(10 * MiB - 4)}`,
      status: 413,
      body: { message: "Payload too large" },
    },
  ],
};
