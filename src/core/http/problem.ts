import type { ErrorCode } from '../errors.ts'

/** An error as application/problem+json (RFC 9457). `code` is Sluice's own, from its registry. */
export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly code?: ErrorCode
}

/** Describes a request that could not be served. */
export function problem(status: number, title: string, detail: string, code?: ErrorCode): Problem {
  return { type: 'about:blank', title, status, detail, ...(code !== undefined && { code }) }
}
