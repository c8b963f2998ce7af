/**
 * The fields with which proxies describe the client and its request to applications. Applications trust them, so a
 * client's are removed. docs/gateway.md has the same list; a test compares them.
 */
export const BELIEVED_FIELDS: readonly string[] = [
  // The client's address.
  ...['x-real-ip', 'true-client-ip', 'x-client-ip', 'client-ip', 'x-cluster-client-ip', 'x-remote-ip', 'x-remote-addr'],
  ...['x-originating-ip', 'x-proxyuser-ip', 'proxy-client-ip', 'wl-proxy-client-ip', 'x-forwarded', 'forwarded-for'],
  ...['cf-connecting-ip', 'cf-connecting-ipv6', 'cf-pseudo-ipv4', 'fastly-client-ip', 'fly-client-ip'],
  ...[
    'do-connecting-ip',
    'x-nf-client-connection-ip',
    'x-vercel-forwarded-for',
    'x-azure-clientip',
    'x-azure-socketip',
  ],
  // What was asked for.
  ...['x-rewrite-url', 'x-host', 'x-host-override', 'x-http-host-override', 'x-scheme', 'x-url-scheme'],
  ...['front-end-https', 'x-http-method-override', 'x-method-override', 'x-http-method', 'x-middleware-subrequest'],
  // Who a proxy has found the client to be.
  ...['remote-user', 'x-remote-user', 'x-webauth-user', 'x-authenticated-user', 'x-client-verify'],
]

/** BELIEVED_PREFIXES begin the names of more such fields. */
export const BELIEVED_PREFIXES: readonly string[] = [
  ...['x-forwarded-', 'x-original-', 'x-envoy-', 'x-appengine-', 'x-arr-', 'x-auth-request-', 'x-amzn-mtls-'],
  ...['x-amzn-oidc-', 'x-goog-authenticated-user-', 'x-ms-client-principal', 'x-client-cert', 'x-ssl-', 'ssl-client-'],
]

/** Returns whether a name in lower case, which is none of BELIEVED_FIELDS, begins like theirs. */
export function isBelieved(lower: string): boolean {
  return BELIEVED_PREFIXES.some((prefix) => lower.startsWith(prefix))
}
