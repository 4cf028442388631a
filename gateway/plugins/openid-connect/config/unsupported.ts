/** Members of the config of Kong's openid-connect that Sluice does not have, and what to do about each. */

const withMessage = (message: string, names: string): readonly (readonly [string, string])[] =>
  names.split(/\s+/).map((name) => [name, message] as const);

export const unsupportedMembers: Readonly<Record<string, string>> = Object.fromEntries([
  ...withMessage(
    "not supported: remove it. Sessions are kept in encrypted cookies, without a store",
    `session_storage redis session_memcached_host session_memcached_port session_memcached_prefix
    session_memcached_socket session_store_metadata session_hash_storage_key session_hash_subject
    session_enforce_same_subject session_remember session_remember_absolute_timeout session_remember_cookie_name
    session_remember_rolling_timeout session_request_headers session_response_headers`,
  ),
  ...withMessage(
    "not supported: remove it. Answers of the provider are cached in each worker",
    "cluster_cache_redis cluster_cache_strategy cache_token_exchange cache_tokens cache_tokens_salt cache_ttl_min " +
      "cache_ttl_resurrect cache_user_info token_cache_key_include_scope",
  ),
  ...withMessage(
    "not supported: remove it. Signatures, times and the nonce are always verified",
    "ignore_signature verify_claims verify_nonce verify_signature verify_parameters introspection_check_active reverify",
  ),
  ...withMessage("not supported: remove it. PKCE is always used", "require_proof_key_for_code_exchange"),
  ...withMessage(
    "not supported: remove it. The provider is reached directly, with HTTP/1.1",
    "http_proxy http_proxy_authorization https_proxy https_proxy_authorization no_proxy http_version keepalive",
  ),
  ...withMessage(
    "not supported: remove it. The claims of a token come from the token or from introspection",
    `search_user_info userinfo_accept userinfo_endpoint userinfo_headers_client userinfo_headers_names
    userinfo_headers_values userinfo_query_args_client userinfo_query_args_names userinfo_query_args_values
    resolve_distributed_claims upstream_user_info_header upstream_user_info_jwt_header downstream_user_info_header
    downstream_user_info_jwt_header`,
  ),
  ...withMessage(
    "not supported: remove it. Choose claims for headers with upstream_headers_claims and downstream_headers_claims",
    `upstream_access_token_jwk_header upstream_id_token_header upstream_id_token_jwk_header
    upstream_introspection_header upstream_introspection_jwt_header upstream_refresh_token_header
    upstream_session_id_header downstream_access_token_header downstream_access_token_jwk_header
    downstream_id_token_header downstream_id_token_jwk_header downstream_introspection_header
    downstream_introspection_jwt_header downstream_refresh_token_header downstream_session_id_header`,
  ),
  ...withMessage(
    "not supported: remove it. Clients authenticate with client_secret, or not at all",
    `client_alg client_jwk client_arg client_credentials_param_type password_param_type tls_client_auth_cert_id
    tls_client_auth_ssl_verify mtls_introspection_endpoint mtls_revocation_endpoint mtls_token_endpoint
    introspection_endpoint_auth_method token_endpoint_auth_method revocation_endpoint_auth_method
    pushed_authorization_request_endpoint pushed_authorization_request_endpoint_auth_method`,
  ),
  ...withMessage(
    "not supported: remove it",
    `audience authorization_query_args_client authorization_query_args_names authorization_query_args_values
    by_username_ignore_case claims_forbidden disable_session discovery_headers_names discovery_headers_values domains
    dpop_proof_lifetime dpop_use_nonce extra_jwks_uris forbidden_destroy_session forbidden_redirect_uri
    id_token_param_name id_token_param_type introspection_accept introspection_headers_client
    introspection_headers_names introspection_headers_values introspection_post_args_client
    introspection_post_args_client_headers introspection_post_args_names introspection_post_args_values
    introspection_token_param_name jwt_session_claim jwt_session_cookie login_methods login_redirect_mode
    logout_post_arg logout_revoke logout_revoke_access_token logout_revoke_refresh_token max_age preserve_query_args
    proof_of_possession_auth_methods_validation proof_of_possession_dpop proof_of_possession_mtls
    refresh_token_param_name refresh_token_param_type require_pushed_authorization_requests
    require_signed_request_object response_mode response_type revocation_endpoint revocation_token_param_name
    token_exchange_endpoint token_headers_client token_headers_grants token_headers_names token_headers_prefix
    token_headers_replay token_headers_values token_post_args_client token_post_args_names token_post_args_values
    unauthorized_destroy_session unauthorized_redirect_uri unexpected_redirect_uri using_pseudo_issuer`,
  ),
]);
