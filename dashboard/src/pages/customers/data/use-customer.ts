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
} from '../../../api/operations.ts'
import { type Author, authorsOf } from '../../../kit/authors.ts'
import { isDialogOpen } from '../../../kit/dialogs.tsx'
import { type Resource, useResource } from '../../../kit/use-resource.ts'
import { type CustomerRead, CustomerReader } from './customer-reader.ts'

const FIGURES_MS = 3_000

/** A Part is the first entries of a list, and whether there are more. */
interface Part<T> {
  readonly items: readonly T[]
  readonly has_more: boolean
}

/** The daily usage of a customer, and the time until which it is complete. */
export interface UsagePart extends Part<UsageRow> {
  readonly complete_until: string
}

/** CustomerData is all that the page of a customer shows. */
export interface CustomerData {
  readonly customer: Customer
  /** Limits whose counters exist. */
  readonly limits: Resource<readonly LimitState[]>
  /** Limits that stand for any value. */
  readonly patterns: readonly LimitState[]
  /** How many descriptors were left out, because there are so many. */
  readonly omitted: number
  readonly keys: Resource<readonly ApiKey[]>
  /** Overrides of the customer and of its keys. */
  readonly overrides: Resource<readonly Override[]>
  readonly grants: Resource<readonly Grant[]>
  readonly blocks: Resource<readonly Block[]>
  readonly refusals: Resource<readonly Refusal[]>
  readonly usage: Resource<UsagePart>
  readonly changes: Resource<Part<AuditEntry>>
  /** Who changed each record last, by its id. */
  readonly authors: ReadonlyMap<string, Author>
  reload(): void
}

/** useCustomer reads a customer every few seconds, with one request each time, except while a dialog is open. */
export function useCustomer(id: string): Resource<CustomerData> {
  const reader = useMemo(() => CustomerReader.ofCustomer(id), [id])
  const everyMs = isDialogOpen.value ? undefined : FIGURES_MS
  const read = useResource(`customer ${id}`, (signal) => reader.read(signal), everyMs)
  const reload = (): void => {
    reader.forget()
    read.reload()
  }
  return { ...read, reload, data: read.data && dataOf(read.data, read.problem, reload) }
}

function dataOf(
  { customer, parts, problems }: CustomerRead,
  trouble: Resource<unknown>['problem'],
  reload: () => void,
) {
  const part = <T>(name: string, data: T | null | undefined): Resource<T> => {
    const problem = trouble ?? problems.get(name)
    return { data: data ?? undefined, problem, isLoading: data == null && problem === undefined, reload }
  }
  const limits = parts.limits?.limits
  return {
    customer,
    limits: part(
      'limits',
      limits?.filter(({ is_pattern }) => !is_pattern),
    ),
    patterns: limits?.filter(({ is_pattern }) => is_pattern) ?? [],
    omitted: parts.limits?.omitted ?? 0,
    keys: part('keys', parts.keys?.items),
    overrides: part('overrides', parts.overrides?.items),
    grants: part('grants', parts.grants?.items),
    blocks: part('blocks', parts.blocks?.items),
    refusals: part('refusals', parts.refusals?.refusals),
    usage: part('usage', parts.usage),
    changes: part('changes', parts.changes),
    authors: authorsOf(parts.changes?.items ?? []),
    reload,
  }
}
