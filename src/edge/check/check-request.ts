import * as z from 'zod'
import { SluiceError } from '../../core/errors.ts'
import { MAX_COUNT } from '../../core/limit.ts'
import { pathText } from '../../core/path-text.ts'
import type { CheckRequest } from '../../core/request.ts'

const MOST_DESCRIPTORS = 64
const MOST_ENTRIES = 32

const text = z.string().regex(/^[^\p{Cc}\p{Cs}]*$/u, 'control characters and halves of characters are not allowed')
const entry = z.strictObject({ key: text.min(1, 'a key must not be empty'), value: text })
const checkRequest = z.strictObject({
  domain: text.min(1, 'rate limit domain must not be empty'),
  descriptors: z
    .array(z.strictObject({ entries: z.array(entry).min(1).max(MOST_ENTRIES) }))
    .min(1, 'rate limit descriptor list must not be empty')
    .max(MOST_DESCRIPTORS),
  cost: z.int().min(-MAX_COUNT).max(MAX_COUNT).optional(),
})

/** parseCheckRequest reads the body of POST /v1/check. What it does not understand, it refuses and says why. */
export function parseCheckRequest(body: string): CheckRequest {
  const checked = checkRequest.safeParse(parseJson(body))
  if (checked.success) {
    const { cost, ...request } = checked.data
    return cost === undefined ? request : { ...request, cost }
  }
  const issue = checked.error.issues[0]
  throw new SluiceError('REQUEST_INVALID', `body${pathText(issue.path)}`, issue.message)
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    throw new SluiceError('REQUEST_INVALID', 'body', 'not JSON')
  }
}
