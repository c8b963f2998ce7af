import { got, SluiceError } from '../core/errors.ts'
import { holdsPermits, type Limit, MAX_COUNT } from '../core/limit.ts'
import type { CheckRequest } from '../core/request.ts'

/** What a request was charged when it was decided, and what it has cost in the end. */
export interface SettledCost {
  readonly charged: number
  readonly actual: number
}

const MAX_KEY_CHARACTERS = 65_536

export function checkKey(key: unknown): void {
  if (typeof key !== 'string' || key.length === 0 || key.length > MAX_KEY_CHARACTERS) {
    throw invalidKey(key)
  }
}

function invalidKey(key: unknown): SluiceError {
  return new SluiceError('KEY_INVALID', 'key', typeof key === 'string' ? `got ${key.length} characters` : got(key))
}

export function checkCost(cost: number): void {
  if (!Number.isInteger(cost) || cost > MAX_COUNT || cost < -MAX_COUNT) throw invalidCost(cost)
}

function invalidCost(cost: number): SluiceError {
  return new SluiceError('COST_INVALID', 'cost', got(cost))
}

/** Refuses costs that cannot be what a request was charged, and what it has cost in the end. */
export function checkSettled({ charged, actual }: SettledCost): void {
  for (const [name, cost] of [
    ['charged', charged],
    ['actual', actual],
  ] as const) {
    if (!Number.isInteger(cost) || cost < 0 || cost > MAX_COUNT) throw new SluiceError('COST_INVALID', name, got(cost))
  }
}

/** Refuses what cannot be what a request has cost in the end. */
export function checkActual(cost: number): void {
  if (!Number.isInteger(cost) || cost < 0 || cost > MAX_COUNT) throw new SluiceError('COST_INVALID', 'cost', got(cost))
}

export function checkRefund(cost: number): void {
  if (!(cost >= 0)) throw new SluiceError('COST_INVALID', 'cost', got(cost))
}

/** Refuses to take permits of a limit that has none, and to take less than one. */
export function checkPermits(limit: Limit, cost: number): void {
  if (!holdsPermits(limit)) {
    throw new SluiceError('ACQUIRE_NOT_APPLICABLE', 'acquire', `this limit is a ${limit.algorithm}`)
  }
  if (!Number.isInteger(cost) || cost < 1 || cost > MAX_COUNT) throw new SluiceError('COST_INVALID', 'cost', got(cost))
}

/**
 * Rejects what is not text. A caller without types may pass a number, which would miss rules for that value, or
 * undefined, which would put all callers without a value into one counter.
 */
export function checkRequest({ domain, descriptors }: CheckRequest): void {
  checkText(domain, () => 'domain')
  checkList(descriptors, () => 'descriptors')
  for (let i = 0; i < descriptors.length; i++) {
    const entries = descriptors[i]?.entries
    checkList(entries, () => `descriptors[${i}].entries`)
    for (let j = 0; j < entries.length; j++) {
      checkText(entries[j]?.key, () => `descriptors[${i}].entries[${j}].key`)
      checkText(entries[j]?.value, () => `descriptors[${i}].entries[${j}].value`)
    }
  }
}

function checkText(value: unknown, where: () => string): void {
  if (typeof value !== 'string') throw new SluiceError('REQUEST_INVALID', where(), got(value))
}

function checkList(value: unknown, where: () => string): void {
  if (!Array.isArray(value)) throw new SluiceError('REQUEST_INVALID', where(), got(value))
}
