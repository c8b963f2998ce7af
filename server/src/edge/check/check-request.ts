import { type ErrorCode, SluiceError } from 'sluice/internal/core/errors'
import { MAX_COUNT } from 'sluice/internal/core/limit'
import { UNITS } from 'sluice/internal/core/limit-options'
import { pathText } from 'sluice/internal/core/path-text'
import type { CheckRequest } from 'sluice/internal/core/request'
import * as z from 'zod'
import { MAX_DESCRIPTORS, MAX_ENTRIES } from '../rls/rls-request.ts'

const text = z.string().regex(/^[^\p{Cc}\p{Cs}]*$/u, 'control characters and halves of characters are not allowed')
const entry = z.strictObject({ key: text.min(1, 'a key must not be empty'), value: text })
const cost = z.int().min(-MAX_COUNT).max(MAX_COUNT)
const limit = z.strictObject({
  requestsPerUnit: z.int().min(0).max(MAX_COUNT),
  unit: z.enum(UNITS),
  unitMultiplier: z.int().min(1).max(MAX_COUNT).optional(),
})
const checkRequest = z.strictObject({
  domain: text.min(1, 'rate limit domain must not be empty'),
  descriptors: z
    .array(
      z.strictObject({
        entries: z.array(entry).min(1).max(MAX_ENTRIES),
        cost: cost.optional(),
        limit: limit.optional(),
      }),
    )
    .min(1, 'rate limit descriptor list must not be empty')
    .max(MAX_DESCRIPTORS),
  cost: cost.optional(),
})
const releaseRequest = z.strictObject({ lease: z.string() })

/** parseCheckRequest reads the body of /v1/check and /v1/acquire. What it does not understand, it refuses. */
export function parseCheckRequest(body: string): CheckRequest {
  const { cost, ...request } = parse(checkRequest, body, 'REQUEST_INVALID')
  return cost === undefined ? request : { ...request, cost }
}

/** parseRelease reads the body of /v1/release, and returns the lease. */
export function parseRelease(body: string): string {
  return parse(releaseRequest, body, 'RELEASE_INVALID').lease
}

function parse<T>(schema: z.ZodType<T>, body: string, code: ErrorCode): T {
  const checked = schema.safeParse(parseJson(body, code))
  if (checked.success) return checked.data
  const issue = checked.error.issues[0]
  throw new SluiceError(code, `body${pathText(issue.path)}`, issue.message)
}

function parseJson(body: string, code: ErrorCode): unknown {
  try {
    return JSON.parse(body)
  } catch {
    throw new SluiceError(code, 'body', 'not JSON')
  }
}
