/** A running Keycloak, and its admin API. */
import { freePort, startProcess } from "../../../tools/process/index.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";

const administrator = { username: "admin", password: "administrator of this test" };

export interface Keycloak {
  /** Without a slash at its end. */
  readonly url: string;
  /** Calls the admin API. Resolves to the parsed body, or undefined if it is empty; rejects for an error status. */
  call(method: string, path: string, body?: object): Promise<unknown>;
  stop(): Promise<void>;
}

/** Starts Keycloak on 127.0.0.1, with a database in memory. It takes about half a minute on two cores. */
export async function startKeycloak(): Promise<Keycloak> {
  await obtainTool("java");
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const args = ["--optimized", "--http-enabled=true", "--http-host=127.0.0.1", `--http-port=${port}`];
  const server = await startProcess(await obtainTool("keycloak"), ["start", ...args, `--hostname=${url}`], {
    name: "keycloak",
    ready: `${url}/realms/master`,
    timeout: 300_000,
    env: {
      KC_BOOTSTRAP_ADMIN_USERNAME: administrator.username,
      KC_BOOTSTRAP_ADMIN_PASSWORD: administrator.password,
      JAVA_OPTS_KC_HEAP: "-Xms128m -Xmx768m",
    },
  });
  const call = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${url}/admin${path}`, {
      method,
      headers: { authorization: `Bearer ${await administratorToken(url)}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`keycloak: ${method} ${path} was answered with ${response.status}: ${text}`);
    return text === "" ? undefined : (JSON.parse(text) as unknown);
  };
  return { url, call, stop: async () => void (await server.stop(30_000)) };
}

/** A token is valid for a minute, so each call gets its own. */
async function administratorToken(url: string): Promise<string> {
  const body = new URLSearchParams({ grant_type: "password", client_id: "admin-cli", ...administrator });
  const response = await fetch(`${url}/realms/master/protocol/openid-connect/token`, { method: "POST", body });
  const { access_token } = (await response.json()) as { readonly access_token?: string };
  if (access_token === undefined) throw new Error(`keycloak: no token for its administrator: ${response.status}`);
  return access_token;
}
