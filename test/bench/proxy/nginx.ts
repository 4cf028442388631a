/** nginx with one worker that writes no log and keeps its connections. */
import { join } from "node:path";

/** @param http the lines that go into the http block. */
export const nginxConfig = (folder: string, http: readonly string[]): string =>
  [
    "daemon off; worker_processes 1; worker_rlimit_nofile 16384; error_log stderr error;",
    // Of root's workers, who else could not read the folder.
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
