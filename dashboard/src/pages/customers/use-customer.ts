import { useMemo } from 'preact/hooks'
import type {
  ApiKey,
  AuditEntry,
  Block,
  Customer,
  Grant,
  LimitState,
  Override,
  Refusal,
  UsageRow,
} from '../../api/operations.ts'
import { type Resource, useResource } from '../../api/resource.ts'
import { type CustomerRead, CustomerReader } from './customer-reader.ts'

const FIGURES_MS = 3_000

/** A Part is the first entries of a list, and whether there are more. */
interface Part<T> {
  readonly items: readonly T[]
  readonly has_more: boolean
}

/** CustomerData is all that is known of one customer. */
export interface CustomerData {
  readonly customer: Resource<Customer>
  /** Those whose counters are known. */
  readonly limits: Resource<readonly LimitState[]>
  /** Limits of values that are not known. */
  readonly patterns: readonly LimitState[]
  /** How many descriptors were not looked at, because there are so many. */
  readonly omitted: number
  readonly keys: Resource<readonly ApiKey[]>
  /** Those of the customer and of its keys. */
  readonly overrides: Resource<readonly Override[]>
  readonly grants: Resource<readonly Grant[]>
  readonly blocks: Resource<readonly Block[]>
  readonly refusals: Resource<readonly Refusal[]>
  readonly usage: Resource<UsagePart>
  readonly changes: Resource<Part<AuditEntry>>
  reload(): void
}

/** The daily usage of a customer, and up to when it is complete. */
export interface UsagePart extends Part<UsageRow> {
  readonly complete_until: string
}

/** useCustomer reads a customer every few seconds. While it is held it does not: what is about to be removed is not looked for afterwards. */
export function useCustomer(id: string, isHeld: boolean): CustomerData {
  const reader = useMemo(() => CustomerReader.ofCustomer(id), [id])
  const read = useResource(`customer ${id}`, (signal) => reader.read(signal), isHeld ? undefined : FIGURES_MS)
  const reload = (): void => {
    reader.forget()
    read.reload()
  }
  const part = <T>(name: keyof CustomerRead['parts'], of: (parts: CustomerRead['parts']) => T | undefined) => {
    const data = read.data && of(read.data.parts)
    const problem = read.problem ?? read.data?.problems.get(name)
    return { data, problem, isLoading: data === undefined && problem === undefined, reload }
  }
  const limits = read.data?.parts.limits
  return {
    customer: { ...read, data: read.data?.customer, reload },
    limits: part('limits', ({ limits: found }) => found?.limits.filter(({ is_pattern }) => !is_pattern)),
    patterns: limits?.limits.filter(({ is_pattern }) => is_pattern) ?? [],
    omitted: limits?.omitted ?? 0,
    keys: part('keys', ({ keys }) => keys?.items),
    overrides: part('overrides', ({ overrides }) => overrides?.items),
    grants: part('grants', ({ grants }) => grants?.items),
    blocks: part('blocks', ({ blocks }) => blocks?.items),
    refusals: part('refusals', ({ refusals }) => refusals?.refusals),
    usage: part('usage', ({ usage }) => usage ?? undefined),
    changes: part('changes', ({ changes }) => changes ?? undefined),
    reload,
  }
}
