import { durationText } from 'sluice/internal/core/duration-text'
import type { ApiKey, Refusal } from '../../api/operations.ts'
import type { Resource } from '../../api/resource.ts'
import { Card, State, Time } from '../../ui/parts.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { reasonText } from './refusal-words.ts'

interface RefusalsProps {
  readonly refusals: Resource<readonly Refusal[]>
  readonly keys: readonly ApiKey[]
}

/** RefusalsCard lists what was refused last: by which rule, and why. */
export function RefusalsCard({ refusals: { data, problem, reload }, keys }: RefusalsProps) {
  const columns: Column<Refusal>[] = [
    { title: 'When', isTight: true, cell: ({ at }) => <Time at={at} /> },
    {
      title: 'Rule',
      cell: (refusal) => (
        <span class="stack none record-name">
          <Rule refusal={refusal} />
          <span class="faint">{keyText(refusal, keys)}</span>
        </span>
      ),
    },
    { title: 'Why', cell: (refusal) => <span class="break">{reasonText(refusal)}</span> },
    {
      title: 'Again in',
      align: 'right',
      isTight: true,
      cell: ({ retry_after_ms: ms }) => (ms === null ? <span class="faint">–</span> : durationText(ms, Math.ceil)),
    },
  ]
  return (
    <Card title="Last refusals" span="half" isFlush>
      <div class="short-list">
        <Table
          label="Last refusals"
          columns={columns}
          rows={data}
          keyOf={({ at, rule, api_key_id }) => `${at} ${rule} ${api_key_id}`}
          problem={problem}
          reload={reload}
          empty={<State icon="check" title="Nothing was refused lately" />}
        />
      </div>
    </Card>
  )
}

function Rule({ refusal: { domain, rule, rule_name, reason } }: { readonly refusal: Refusal }) {
  if (reason === 'blocked') return <span>every request</span>
  return (
    <a class="break" href={`/rules?${new URLSearchParams({ domain, text: rule })}`} title={rule}>
      {rule_name}
    </a>
  )
}

function keyText({ api_key_id, domain }: Refusal, keys: readonly ApiKey[]): string {
  const key = keys.find(({ id }) => id === api_key_id)
  return key === undefined ? domain : `${domain} · key ${key.prefix}…`
}
