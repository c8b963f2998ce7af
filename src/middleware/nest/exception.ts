import { HttpException } from '@nestjs/common'
import type { Refusal } from '../../core/http/refusal.ts'
import type { Pass } from '../../http-door/gate.ts'

/**
 * What a refused request ends with: filters of the app see it like any other, and without one the caller gets its body.
 */
export class RateLimitException extends HttpException {
  readonly pass: Pass
  readonly refusal: Refusal

  constructor(pass: Pass, refusal: Refusal) {
    super(bodyOf(refusal), refusal.status)
    this.pass = pass
    this.refusal = refusal
  }
}

/** Returns what filters get to see: what the body says, where that is an object, and else the text itself. */
function bodyOf(refusal: Refusal): string | Record<string, unknown> {
  return objectOf(refusal) ?? refusal.body
}

/** Reads a body that Nest sends as it was: one that is an object in JSON. */
export function objectOf({ contentType, body }: Refusal): Record<string, unknown> | undefined {
  if (!contentType.includes('json')) return undefined
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
