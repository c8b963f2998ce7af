import type { LimitState } from '../../../api/operations.ts'
import { Name, Time } from '../../../ui/parts.tsx'
import type { CustomerData } from '../data/use-customer.ts'
import { By } from './created-by.tsx'

interface OriginProps {
  readonly limit: LimitState
  readonly data: CustomerData
}

/** LimitOrigin names where the number of a limit comes from, with a link to it. */
export function LimitOrigin({ limit, data }: OriginProps) {
  const { source, domain, rule_id, rule_name } = limit
  if (source.kind === 'tier') {
    const address = `/tiers?${new URLSearchParams({ domain, tier: source.id ?? '' })}`
    return (
      <>
        From tier <a href={address}>{source.id}</a>
      </>
    )
  }
  if (source.kind === 'rule') {
    const address = `/rules?${new URLSearchParams({ domain, text: rule_id })}`
    return (
      <>
        From rule{' '}
        <a href={address} title={rule_id}>
          <Name of={rule_name} />
        </a>
      </>
    )
  }
  const id = source.id ?? ''
  const author = <By author={data.authors.get(id)} />
  if (source.kind === 'grant') {
    return (
      <>
        From a{' '}
        <a href={`#grant-${id}`} data-out>
          grant
        </a>
        {author}
      </>
    )
  }
  const override = data.overrides.data?.find((each) => each.id === id)
  return (
    <>
      From an{' '}
      <a href={`#override-${id}`} data-out>
        override{source.kind === 'key_override' && ' of this key'}
      </a>
      {override?.expires_at && (
        <>
          {' '}
          · ends <Time at={override.expires_at} />
        </>
      )}
      {author}
    </>
  )
}
