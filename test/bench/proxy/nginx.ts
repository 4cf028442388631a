/** The config of an nginx with one worker, no access log and keep-alive connections. */
import { join } from "node:path";

/** @param http Lines for the http block. */
export const nginxConfig = (folder: string, http: readonly string[]): string =>
  [
    "daemon off; worker_processes 1; worker_rlimit_nofile 16384; error_log stderr error;",
    // Workers run as root if the master does, because other users could not read the folder.
    ...(process.getuid?.() === 0 ? ["user root;"] : []),
    `pid ${join(folder, "nginx.pid")};`,
    "events { worker_connections 8192; }",
    "http {",
    "access_log off; keepalive_timeout 1h; keepalive_requests 1000000000; client_max_body_size 0;",
    ...["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      (name) => `${name}_temp_path ${join(folder, `${name}_temp`)};`,
    ),
    ...http,
    "}",
    "",
  ].join("\n");
