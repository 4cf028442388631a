/**
 * Passes requests for endpoints of plugins through tables of the database: the admin API inserts a call and notifies
 * the nodes, and each node inserts its result and notifies the admin API.
 */
import { randomUUID } from "node:crypto";
import {
  isPluginEndpointCall,
  isPluginEndpointResult,
  NODE_ENDPOINT_TIMEOUT,
  type PluginEndpointCall,
  type PluginEndpointResult,
} from "@sluice/model/serving";
import type { DatabaseConnection } from "./driver.ts";

/** Notifies the nodes of a call. The payload is its id. */
export const CALLS_CHANNEL = "sluice_plugin_calls";
/** Notifies the caller of a result. The payload is the id of the call. */
export const RESULTS_CHANNEL = "sluice_plugin_call_results";

/** Seconds after which no node answers a call any more. */
export const CALL_LIFETIME = Math.ceil(NODE_ENDPOINT_TIMEOUT / 1000);

/** Returns the id of the call. */
export async function insertCall(connection: DatabaseConnection, call: PluginEndpointCall): Promise<string> {
  const id = randomUUID();
  await connection.query(
    `with asked as (
       insert into plugin_calls (id, content, asked_at) values ($1, $2, clock_timestamp()) returning id
     )
     select pg_notify('${CALLS_CHANNEL}', id::text) from asked`,
    [id, JSON.stringify(call)],
  );
  return id;
}

/** Deletes a call with its results, and expired calls that their callers did not delete. */
export async function deleteCall(connection: DatabaseConnection, id: string): Promise<void> {
  await connection.query(
    `delete from plugin_calls where id = $1 or asked_at < clock_timestamp() - interval '${2 * CALL_LIFETIME} s'`,
    [id],
  );
}

/** The calls of the last CALL_LIFETIME seconds that the node has not answered yet, by id. */
export async function readCalls(
  connection: DatabaseConnection,
  node: string,
): Promise<ReadonlyMap<string, PluginEndpointCall>> {
  const rows = await connection.query(
    `select id::text, content from plugin_calls
     where asked_at between clock_timestamp() - interval '${CALL_LIFETIME} s' and clock_timestamp()
       and not exists (select from plugin_call_results where call_id = plugin_calls.id and node = $1)`,
    [node],
  );
  return new Map(
    rows.flatMap(({ id, content }) => {
      const call = parsed(content);
      return isPluginEndpointCall(call) ? [[String(id), call] as const] : [];
    }),
  );
}

/** Has no effect if the caller has deleted the call meanwhile, or if the node's result is already in the table. */
export async function insertResult(
  connection: DatabaseConnection,
  { call, node, response }: PluginEndpointResult & { readonly call: string; readonly node: string },
): Promise<void> {
  await connection.query(
    `with answered as (
       insert into plugin_call_results (call_id, node, content)
         select id, $2::text::uuid, $3::text from plugin_calls where id = $1
         on conflict do nothing
         returning call_id
     )
     select pg_notify('${RESULTS_CHANNEL}', call_id::text) from answered`,
    [call, node, JSON.stringify({ response })],
  );
}

/** The results of a call so far, by the id of the node. */
export async function readResults(
  connection: DatabaseConnection,
  call: string,
): Promise<ReadonlyMap<string, PluginEndpointResult>> {
  const rows = await connection.query("select node::text, content from plugin_call_results where call_id = $1", [call]);
  return new Map(
    rows.flatMap(({ node, content }) => {
      const result = parsed(content);
      return isPluginEndpointResult(result) ? [[String(node), result] as const] : [];
    }),
  );
}

/**
 * The value of JSON text; undefined for invalid JSON, which another program may have written: such a row must not
 * prevent the other rows from being read.
 */
function parsed(content: unknown): unknown {
  try {
    return JSON.parse(String(content));
  } catch {
    return undefined;
  }
}
