import { useEffect, useState } from 'preact/hooks'
import { ask } from '../../api/client.ts'
import type { Block } from '../../api/operations.ts'
import { actionColumn, type Column, RecordList } from '../../kit/record-list.tsx'
import { useNewParam } from '../../kit/use-new-param.ts'
import { usePages } from '../../kit/use-pages.ts'
import { customerHref } from '../../state/links.ts'
import { whyNot } from '../../state/session.ts'
import { Button } from '../../ui/button.tsx'
import { Badge, Card, PageHead, State, Time } from '../../ui/parts.tsx'
import { confirmUnblock, openBlockForm } from './block-changes.tsx'
import { stateOf, typedAgain, typedFor, whoText } from './block-subject.ts'
import './blocks.css'

/** A block that ends moves to the other list without a reload. */
const LOOK_EVERY_MS = 5_000

/** Blocks lists who is refused whatever the rules say, and starts and ends blocks. */
export function Blocks() {
  const list = usePages('blocks', async (cursor, signal) => {
    return (await ask('listBlocks', { query: { cursor, page_size: 500 }, signal })).body
  })
  const { reload } = list
  const nowMs = useNow()
  const why = whyNot('operator')
  const begin = (asked = ''): void => openBlockForm(typedFor(asked), { reload })
  useNewParam(why, begin)
  const items = list.data?.toSorted((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at))
  const ended = items?.filter((block) => stateOf(block, nowMs) === 'over') ?? []
  const inForce = items?.filter((block) => stateOf(block, nowMs) !== 'over')
  const unblock = actionColumn<Block>({
    ...{ title: 'Unblock', why, label: (block) => `Unblock: ${whoText(block)}` },
    run: (block) => confirmUnblock(block, whoText(block), reload),
  })
  const again = actionColumn<Block>({
    ...{ title: 'Block again', why, label: (block) => `Block again: ${whoText(block)}` },
    run: (block) => openBlockForm(typedAgain(block), { reason: block.reason ?? undefined, reload }),
  })
  const nothing = (
    <State icon="check" title="There are no blocks">
      Rules, tiers and quotas decide about every request.
    </State>
  )
  return (
    <>
      <PageHead title="Blocks" about="Customers, keys and addresses that are refused before any rule applies.">
        <Button kind="primary" icon="plus" why={why} onClick={() => begin()}>
          Block a caller
        </Button>
      </PageHead>
      <div class="stack">
        <Card title="In force" actions={inForce && <Badge>{inForce.length}</Badge>} isFlush>
          <RecordList
            label="Blocks in force"
            columns={[...COLUMNS, unblock]}
            list={{ ...list, data: inForce }}
            keyOf={({ id }) => id}
            empty={nothing}
          />
        </Card>
        {ended.length > 0 && (
          <Card title="Ended" actions={<Badge>{ended.length}</Badge>} isFlush>
            <RecordList
              label="Blocks that ended"
              columns={[...COLUMNS, again]}
              list={{ data: ended }}
              keyOf={({ id }) => id}
              empty={null}
            />
          </Card>
        )}
      </div>
    </>
  )
}

const COLUMNS: readonly Column<Block>[] = [
  { title: 'Who', cell: (block) => <Who block={block} /> },
  {
    title: 'Reason',
    isWordy: true,
    cell: ({ reason }) => <span>{reason ?? <span class="faint">none given</span>}</span>,
  },
  { title: 'Since', isTight: true, cell: ({ effective_at }) => <Time at={effective_at} /> },
  { title: 'Until', isTight: true, cell: ({ expires_at }) => <Time at={expires_at} none="no end" /> },
  { title: 'Answer', cell: ({ status, body }) => <Answer status={status} body={body} /> },
]

function Who({ block }: { readonly block: Block }) {
  const { customer_id, api_key_id, cidr } = block
  return (
    <span class="row">
      {customer_id !== null && (
        <a class="break" href={customerHref(customer_id)}>
          {customer_id}
        </a>
      )}
      {api_key_id !== null && <Badge>key</Badge>}
      {api_key_id !== null && <code title={api_key_id}>{api_key_id.slice(0, 8)}</code>}
      {cidr !== null && <Badge>addresses</Badge>}
      {cidr !== null && <code>{cidr}</code>}
      {stateOf(block) === 'later' && <Badge tone="warn">begins later</Badge>}
    </span>
  )
}

function Answer({ status, body }: { readonly status: number; readonly body: string | null }) {
  return (
    <span class="row">
      <code>{status}</code>
      {body !== null && (
        <code class="clip soft block-body" title={body}>
          {body}
        </code>
      )}
    </span>
  )
}

function useNow(): number {
  const [nowMs, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), LOOK_EVERY_MS)
    return () => clearInterval(timer)
  }, [])
  return nowMs
}
