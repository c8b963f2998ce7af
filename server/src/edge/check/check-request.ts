import { type ErrorCode, SluiceError } from 'sluice/internal/core/errors'
import { MAX_COUNT } from 'sluice/internal/core/limit'
import { UNITS } from 'sluice/internal/core/limit-options'
import { pathText } from 'sluice/internal/core/path-text'
import type { CheckRequest } from 'sluice/internal/core/request'
import { findIssues, type Issue } from 'sluice/internal/core/schema/check'
import type { Schema, Value } from 'sluice/internal/core/schema/schema'
import { PRIORITY_WORDS, readPriority } from 'sluice/internal/core/shedding/priority'
import { MAX_LEASES } from '../leases/renew-leases.ts'
import { MAX_DESCRIPTORS, MAX_ENTRIES } from '../rls/rls-request.ts'
import { shownName } from '../shown-name.ts'

const text = {
  kind: 'text',
  pattern: /^[^\p{Cc}\p{Cs}]*$/u,
  whenOther: 'control characters and halves of characters are not allowed',
} as const satisfies Schema
const key = { ...text, min: 1, whenShort: 'a key must not be empty' } as const
const entry = {
  kind: 'object',
  fields: { key: { schema: key, required: true }, value: { schema: text, required: true } },
} as const satisfies Schema
const cost = { kind: 'integer', min: -MAX_COUNT, max: MAX_COUNT } as const satisfies Schema
const limit = {
  kind: 'object',
  fields: {
    requestsPerUnit: { schema: { kind: 'integer', min: 0, max: MAX_COUNT }, required: true },
    unit: { schema: { kind: 'choice', of: UNITS }, required: true },
    unitMultiplier: { schema: { kind: 'integer', min: 1, max: MAX_COUNT } },
  },
} as const satisfies Schema
const descriptor = {
  kind: 'object',
  fields: {
    entries: { schema: { kind: 'list', of: entry, min: 1, max: MAX_ENTRIES }, required: true },
    cost: { schema: cost },
    limit: { schema: limit },
  },
} as const satisfies Schema
const descriptors = {
  kind: 'list',
  of: descriptor,
  min: 1,
  max: MAX_DESCRIPTORS,
  whenShort: 'rate limit descriptor list must not be empty',
} as const satisfies Schema
const checkRequest = {
  kind: 'object',
  fields: {
    domain: { schema: { ...text, min: 1, whenShort: 'rate limit domain must not be empty' }, required: true },
    descriptors: { schema: descriptors, required: true },
    cost: { schema: cost },
    priority: { schema: { kind: 'choice', of: PRIORITY_WORDS } },
    reserve: { schema: { kind: 'integer', min: 0, max: MAX_COUNT } },
  },
} as const satisfies Schema
const settleRequest = {
  kind: 'object',
  fields: {
    settle: { schema: { kind: 'text', min: 1 }, required: true },
    cost: { schema: { kind: 'integer', min: 0, max: MAX_COUNT }, required: true },
  },
} as const satisfies Schema
const releaseRequest = {
  kind: 'object',
  fields: { lease: { schema: { kind: 'text' }, required: true } },
} as const satisfies Schema

const renewRequest = {
  kind: 'object',
  fields: { leases: { schema: { kind: 'list', of: { kind: 'text' }, min: 1, max: MAX_LEASES }, required: true } },
} as const satisfies Schema

/** Reads the body of /v1/acquire. What it does not understand, it refuses. */
export function parseCheckRequest(body: string): CheckRequest {
  const asked = checked(parseJson(body, 'REQUEST_INVALID'))
  if (!asked.isReserved) return asked.request
  throw new SluiceError('REQUEST_INVALID', 'body.reserve', 'permits cannot be reserved; use /v1/check')
}

/** A request whose cost may be an estimate, or what an earlier one has cost in the end. */
export type AskedCheck =
  | { readonly kind: 'check'; readonly request: CheckRequest; readonly isReserved: boolean }
  | { readonly kind: 'settle'; readonly token: string; readonly cost: number }

/** Reads the body of /v1/check: a request, perhaps with `reserve` in place of `cost`; or `settle`. */
export function parseCheck(body: string): AskedCheck {
  const value = parseJson(body, 'REQUEST_INVALID')
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, 'settle')) return checked(value)
  const { settle, cost } = valid(settleRequest, value, 'REQUEST_INVALID')
  return { kind: 'settle', token: settle, cost }
}

function checked(value: unknown): Extract<AskedCheck, { kind: 'check' }> {
  const { cost, reserve, priority: word, ...request } = valid(checkRequest, value, 'REQUEST_INVALID')
  const isCosted = cost !== undefined || request.descriptors.some((each) => each.cost !== undefined)
  if (isCosted && reserve !== undefined) {
    throw new SluiceError('REQUEST_INVALID', 'body.reserve', 'cost and reserve are both given')
  }
  const own = reserve ?? cost
  const priority = readPriority(word)
  const asked = { ...request, ...(own !== undefined && { cost: own }), ...(priority !== undefined && { priority }) }
  return { kind: 'check', request: asked, isReserved: reserve !== undefined }
}

/** Reads the body of /v1/release, and returns the lease. */
export function parseRelease(body: string): string {
  return parse(releaseRequest, body, 'RELEASE_INVALID').lease
}

/** Reads the body of /v1/renew, and returns the leases. */
export function parseRenew(body: string): readonly string[] {
  return parse(renewRequest, body, 'RENEW_INVALID').leases
}

function parse<const S extends Schema>(schema: S, body: string, code: ErrorCode): Value<S> {
  return valid(schema, parseJson(body, code), code)
}

function valid<const S extends Schema>(schema: S, value: unknown, code: ErrorCode): Value<S> {
  const [issue] = findIssues(schema, value)
  if (issue === undefined) return value as Value<S>
  throw new SluiceError(code, `body${pathText(issue.path)}`, reasonOf(issue))
}

/** How many unknown keys are named. */
const MAX_NAMED = 4

/** Returns what is wrong as callers know it, from a capital letter on; what this file says itself stays. */
function reasonOf({ of, reason, unknownKeys }: Issue): string {
  if (of !== 'unknown keys') return reason.replace(/^(invalid|too) /, (word) => word[0].toUpperCase() + word.slice(1))
  const keys = unknownKeys.slice(0, MAX_NAMED).map(shownName)
  const more = unknownKeys.length > MAX_NAMED ? [`and ${unknownKeys.length - MAX_NAMED} more`] : []
  return `Unrecognized key${unknownKeys.length === 1 ? '' : 's'}: ${[...keys, ...more].join(', ')}`
}

function parseJson(body: string, code: ErrorCode): unknown {
  try {
    return JSON.parse(body)
  } catch {
    throw new SluiceError(code, 'body', 'not JSON')
  }
}
