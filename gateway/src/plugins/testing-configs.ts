/** Plugin configs as the model fills them when nothing is set but what must be, for the tests of plugins. */
import type { CorsConfig, KeyAuthConfig, PrometheusConfig, RateLimitingConfig } from "@sluice/model";

export const filledRateLimiting: RateLimitingConfig = {
  second: null,
  minute: 5,
  hour: null,
  day: null,
  month: null,
  year: null,
  limit_by: "consumer",
  header_name: null,
  path: null,
  policy: "local",
  fault_tolerant: true,
  redis: {
    host: null,
    port: 6379,
    timeout: 2000,
    username: null,
    password: null,
    database: 0,
    ssl: false,
    ssl_verify: false,
    server_name: null,
  },
  hide_client_headers: false,
  error_code: 429,
  error_message: "API rate limit exceeded",
  sync_rate: -1,
};

export const filledKeyAuth: KeyAuthConfig = {
  key_names: ["apikey"],
  hide_credentials: false,
  anonymous: null,
  key_in_header: true,
  key_in_query: true,
  key_in_body: false,
  run_on_preflight: true,
  realm: null,
};

export const filledCors: CorsConfig = {
  origins: null,
  headers: null,
  exposed_headers: null,
  methods: ["GET", "HEAD", "PUT", "PATCH", "POST", "DELETE", "OPTIONS", "TRACE", "CONNECT"],
  max_age: null,
  credentials: false,
  private_network: false,
  preflight_continue: false,
  allow_origin_absent: true,
};

export const filledPrometheus: PrometheusConfig = {
  per_consumer: false,
  status_code_metrics: false,
  latency_metrics: false,
  bandwidth_metrics: false,
  upstream_health_metrics: false,
  ai_metrics: false,
  wasm_metrics: false,
};
