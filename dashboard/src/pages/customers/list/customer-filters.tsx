import { useEffect, useRef, useState } from 'preact/hooks'
import type { Customer } from '../../../api/operations.ts'
import { useTierNames } from '../../../kit/inputs.tsx'
import { setQuery } from '../../../state/router.ts'
import { Icon } from '../../../ui/icon.tsx'
import { Choice } from '../../../ui/parts.tsx'

const TYPING_MS = 250

interface FilterProps {
  readonly search: string
  readonly tier: string
  readonly status: Customer['status'] | undefined
}

/** CustomerFilters keep the search in the address, so that it can be shared. */
export function CustomerFilters({ search, tier, status }: FilterProps) {
  const [typed, setTyped] = useState(search)
  const last = useRef(search)
  const tiers = useTierNames(tier)

  // Going back, or a link to all customers, changes the address: the input follows it.
  useEffect(() => {
    if (search === last.current) return
    last.current = search
    setTyped(search)
  }, [search])
  useEffect(() => {
    if (typed.trim() === last.current) return
    const timer = setTimeout(() => {
      last.current = typed.trim()
      setQuery({ search: last.current })
    }, TYPING_MS)
    return () => clearTimeout(timer)
  }, [typed])

  return (
    <search class="filters">
      <span class="search-box">
        <Icon name="search" />
        <input
          class="input"
          type="search"
          aria-label="Search customers"
          placeholder="Id, name or key prefix"
          value={typed}
          maxLength={200}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </span>
      <select
        class="input"
        aria-label="Tier"
        value={tier}
        onChange={(event) => setQuery({ tier: event.currentTarget.value })}
      >
        <option value="">All tiers</option>
        {tiers.map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
      <Choice
        label="Status"
        options={[
          ['all', 'All'],
          ['active', 'Active'],
          ['suspended', 'Suspended'],
        ]}
        value={status ?? 'all'}
        onChoose={(value) => setQuery({ status: value === 'all' ? undefined : value })}
      />
    </search>
  )
}
