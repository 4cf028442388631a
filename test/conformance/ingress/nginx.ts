/** A real nginx with the configuration of all rows. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connectToPort, freePort, type Process, startProcess } from "../../../tools/process/index.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { nginxConfig } from "../../bench/proxy/nginx.ts";
import type { IngressRow } from "./row.ts";
import type { Servers } from "./servers.ts";

/** The headers of every location (ingress-nginx, template nginx.tmpl). A location with others has to repeat them. */
export const headers = `
  proxy_set_header Host $http_host;
  proxy_set_header Upgrade $http_upgrade;
  proxy_set_header Connection $connection_upgrade;
  proxy_set_header X-Request-ID $req_id;
  proxy_set_header X-Real-IP $remote_addr;
  proxy_set_header X-Forwarded-For $remote_addr;
  proxy_set_header X-Forwarded-Host $http_host;
  proxy_set_header X-Forwarded-Port $server_port;
  proxy_set_header X-Forwarded-Proto $scheme;
  proxy_set_header X-Forwarded-Scheme $scheme;
  proxy_set_header X-Scheme $scheme;
  proxy_set_header X-Original-Forwarded-For $http_x_forwarded_for;
  proxy_set_header X-Original-Forwarded-Host $http_x_forwarded_host;
  proxy_set_header Proxy "";`;

const settings = `
  server_tokens off; server_name_in_redirect off; port_in_redirect off;
  underscores_in_headers off; ignore_invalid_headers on; proxy_redirect off; proxy_http_version 1.1;
  proxy_connect_timeout 5s; proxy_send_timeout 60s; proxy_read_timeout 60s; proxy_buffering off;
  proxy_next_upstream error timeout; proxy_next_upstream_tries 3; server_names_hash_bucket_size 128;
  map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
  map $http_x_request_id $req_id { default $http_x_request_id; "" $request_id; }
  ${headers}`;

/** The location of an auth-url; a location uses it with \`auth_request /_auth\`. */
export const authLocation = (url: string, more = ""): string => `
  location = /_auth {
    internal; proxy_pass_request_body off; client_max_body_size 1m;
    proxy_set_header Content-Length ""; proxy_set_header X-Forwarded-Proto "";
    proxy_set_header X-Request-ID $req_id; proxy_set_header Host auth;
    proxy_set_header X-Original-URL $scheme://$http_host$request_uri;
    proxy_set_header X-Original-Method $request_method;
    proxy_set_header X-Sent-From "nginx-ingress-controller";
    proxy_set_header X-Real-IP $remote_addr; proxy_set_header X-Forwarded-For $remote_addr;
    proxy_set_header X-Auth-Request-Redirect $request_uri;
    ${more}
    set $target ${url};
    proxy_pass $target;
  }`;

export interface NginxOptions {
  readonly rows: readonly (readonly [host: string, IngressRow])[];
  readonly servers: Servers;
  /** A folder for nginx' files. */
  readonly folder: string;
  /** Files by name; the configuration refers to them by FOLDER. */
  readonly files: Readonly<Record<string, string>>;
}

export async function startNginx({ rows, servers, folder, files }: NginxOptions): Promise<{
  readonly process: Process;
  readonly port: number;
}> {
  const port = await freePort();
  // An upstream of nginx needs a server.
  const backends = Object.entries(servers.backends).filter(([, ports]) => ports.length > 0);
  const upstreams = backends.map(([name, ports]) => {
    // The others are used if the first fails.
    const lines = ports.map((one, index) => `server 127.0.0.1:${one} max_fails=0${index === 0 ? "" : " backup"};`);
    return `upstream ${name} { ${lines.join(" ")} }`;
  });
  const blocks = rows.flatMap(([host, { nginx, http = "" }]) => [
    http,
    ...Object.entries(typeof nginx === "string" ? { HOST: nginx } : nginx).map(([name, text]) => {
      const listen = `listen 127.0.0.1:${port}${name === "_" ? " default_server" : ""};`;
      return `server { ${listen} server_name "${name}"; ${text} }`.replaceAll("HOST", host);
    }),
  ]);
  mkdirSync(folder, { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content, { mode: 0o644 });
  const config = nginxConfig(folder, [settings, ...upstreams, ...blocks]).replaceAll("FOLDER", folder);
  writeFileSync(join(folder, "nginx.conf"), config);
  const process = await startProcess(await obtainTool("nginx"), ["-c", join(folder, "nginx.conf"), "-p", folder], {
    name: "nginx",
    ready: () => connectToPort(port).catch(() => false),
  });
  return { process, port };
}
