/** Requests to the running product: readiness and the first query. */
import { exampleQuery } from "./greeting.ts";
import type { ChosenAddresses } from "./processes.ts";

/**
 * Resolves if every process responds that it is ready. Otherwise rejects with the response of a process that is not
 * ready, or with the failure of the request to a process. A node is ready once it serves a document.
 *
 * @param hasUserApi Whether the user API is one of the processes.
 */
export async function everyPartAnswers(chosen: ChosenAddresses, hasUserApi = true): Promise<true> {
  const { userApi, status, status2, operator, admin } = chosen;
  const pages = [
    ...(hasUserApi ? [`${userApi}/readyz`] : []),
    `${status}/status/ready`,
    `${status2}/status/ready`,
    `${operator}/readyz`,
    `${admin}/`,
  ];
  await Promise.all(
    pages.map(async (page) => {
      const response = await fetch(`http://${page}`, { signal: AbortSignal.timeout(2000) });
      const text = await response.text();
      if (!response.ok) throw new Error(`http://${page} answered ${response.status}: ${text}`);
    }),
  );
  return true;
}

/**
 * The user API's response to the tour's first query, through a proxy and with the demo key. `text` is the body; if the
 * status is not 2xx, `text` begins with the status.
 */
export async function queryThroughProxy(proxy: string): Promise<{ readonly ok: boolean; readonly text: string }> {
  const response = await fetch(`http://${proxy}/users/graphql`, {
    method: "POST",
    headers: { apikey: "demo-key", "content-type": "application/json" },
    body: exampleQuery,
  });
  const text = await response.text();
  return { ok: response.ok, text: response.ok ? text : `${response.status} ${text}` };
}
