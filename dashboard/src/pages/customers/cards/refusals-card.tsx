import { durationText } from 'sluice/internal/core/duration-text'
import type { ApiKey, Refusal } from '../../../api/operations.ts'
import { type Column, RecordList } from '../../../kit/record-list.tsx'
import { Card, Name, State, Time } from '../../../ui/parts.tsx'
import { reasonText } from '../data/refusal-words.ts'
import type { CustomerData } from '../data/use-customer.ts'

/** RefusalsCard lists the last refusals: by which rule, and why. */
export function RefusalsCard({ data }: { readonly data: CustomerData }) {
  const columns: Column<Refusal>[] = [
    { title: 'When', isTight: true, cell: ({ at }) => <Time at={at} /> },
    {
      title: 'Rule',
      cell: (refusal) => (
        <span class="stack none record-name">
          <Rule refusal={refusal} />
          <span class="faint">{keyText(refusal, data.keys.data ?? [])}</span>
        </span>
      ),
    },
    { title: 'Why', cell: (refusal) => <span class="break">{reasonText(refusal)}</span> },
    {
      title: 'Retry in',
      align: 'right',
      isTight: true,
      cell: ({ retry_after_ms: ms }) => (ms === null ? <span class="faint">–</span> : durationText(ms, Math.ceil)),
    },
  ]
  return (
    <Card title="Last refusals" span="half" isFlush>
      <div class="short-list">
        <RecordList
          label="Last refusals"
          columns={columns}
          list={data.refusals}
          keyOf={({ at, rule, api_key_id }) => `${at} ${rule} ${api_key_id}`}
          empty={<State icon="check" title="No recent refusals" />}
        />
      </div>
    </Card>
  )
}

function Rule({ refusal: { domain, rule, rule_name, reason } }: { readonly refusal: Refusal }) {
  if (reason === 'blocked') return <span>every request</span>
  return (
    <a href={`/rules?${new URLSearchParams({ domain, text: rule })}`} title={rule}>
      <Name of={rule_name} />
    </a>
  )
}

function keyText({ api_key_id, domain }: Refusal, keys: readonly ApiKey[]): string {
  const key = keys.find(({ id }) => id === api_key_id)
  return key === undefined ? domain : `${domain} · key ${key.prefix}…`
}
