/** Counts the calls of Envoy's rate limit service, in the words of envoyproxy/ratelimit. */
export class RlsCalls {
  /** Calls that were not answered, because they made no sense. */
  serviceErrors = 0
  /** Calls that were not answered, because something went wrong here. */
  internalErrors = 0
  requests = 0
  overLimit = 0
  /** Requests that SHADOW_MODE let pass. */
  shadowed = 0;

  /** Returns every name with its count. */
  *list(): Iterable<readonly [name: string, value: number]> {
    yield ['ratelimit.service.call.should_rate_limit.service_error', this.serviceErrors]
    yield ['ratelimit.service.call.should_rate_limit.internal_error', this.internalErrors]
    yield ['ratelimit.service.global_shadow_mode', this.shadowed]
    yield ['ratelimit_server.ShouldRateLimit.total_requests', this.requests]
    yield ['ratelimit_server.ShouldRateLimit.over_limit', this.overLimit]
  }
}
