/**
 * The fields that readers of access logs know, with the names that JSON and CSV logs have for them: the first that a
 * line has is taken. A name with dots leads into objects.
 */
export const FIELD_SOURCES = {
  time: [
    'time',
    'timestamp',
    '@timestamp',
    'ts',
    'start_time',
    'time_iso8601',
    'time_local',
    'msec',
    'date',
    'datetime',
    'start-time',
  ],
  address: [
    'remote_addr',
    'remote_address',
    'client_ip',
    'remote_ip',
    'downstream_remote_address',
    'clientIp',
    'client',
    'ip',
    'c-ip',
    'request.client_ip',
    'request.remote_ip',
  ],
  forwarded_for: ['x_forwarded_for', 'x-forwarded-for', 'http_x_forwarded_for', 'xff', 'forwarded_for'],
  user: ['user', 'remote_user', 'user_id', 'userId', 'sub'],
  request: ['request', 'request_line'],
  method: ['method', 'request_method', 'http_method', ':method', 'x-envoy-method', 'request.method', 'cs-method'],
  target: [
    'x-envoy-original-path',
    'x-envoy-origin-path',
    'request_uri',
    'path',
    ':path',
    'uri',
    'url',
    'target',
    'request.uri',
    'cs-uri-stem',
  ],
  host: ['authority', ':authority', 'host', 'http_host', 'server_name', 'request.host'],
  status: ['status', 'response_code', 'status_code', 'statusCode', 'code', 'sc-status'],
  user_agent: ['user_agent', 'user-agent', 'http_user_agent', 'userAgent'],
  referer: ['referer', 'http_referer', 'referrer'],
  cost: ['cost', 'hits_addend'],
} as const satisfies Record<string, readonly string[]>

/** A field that every format may have. */
export type FieldName = keyof typeof FIELD_SOURCES

/** Reads lines of one format. */
export interface LineReader {
  /**
   * Reads the line from `start` to `end` into `values`, one for each wanted field, '' for what is not there. Returns
   * its time in milliseconds since 1970, or NaN for a line that cannot be read.
   */
  read(text: string, start: number, end: number, values: string[]): number
}

/** The place of each wanted field in the values of a line. */
export type Slots = ReadonlyMap<string, number>

/** Returns the place of a field, or -1 where it is not wanted. */
export function slotOf(slots: Slots, field: FieldName): number {
  return slots.get(field) ?? -1
}

/** Reads `GET /path HTTP/1.1`. Returns false for what is no request line. */
export function readRequestLine(
  text: string,
  start: number,
  end: number,
  slots: RequestSlots,
  values: string[],
): boolean {
  const space = text.indexOf(' ', start)
  if (space <= start || space >= end - 1) return false
  const last = text.lastIndexOf(' ', end - 1)
  // HTTP/0.9 has no version.
  const targetEnd = last > space && text.startsWith('HTTP/', last + 1) ? last : end
  if (slots.method >= 0) values[slots.method] = text.slice(start, space)
  if (slots.target >= 0) values[slots.target] = text.slice(space + 1, targetEnd)
  return true
}

export interface RequestSlots {
  readonly method: number
  readonly target: number
}
