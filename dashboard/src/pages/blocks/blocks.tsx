import { useEffect, useState } from 'preact/hooks'
import { ask } from '../../api/client.ts'
import type { Block, NewBlock } from '../../api/operations.ts'
import { usePages } from '../../api/pages.ts'
import { place, setQuery } from '../../app/router.ts'
import { whyNot } from '../../app/session.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeDialog } from '../../ui/change-dialog.tsx'
import { Badge, Card, PageHead, State, Time } from '../../ui/parts.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { type BlockFields, fieldsAsked, fieldsOf, sameAgain, stateOf, whoText } from './block-fields.ts'
import { BlockForm } from './block-form.tsx'
import './blocks.css'

/** Blocks that end by themselves go to the other list without a reload. */
const LOOK_EVERY_MS = 5_000

/** What is open over the page. */
type Step =
  | { readonly kind: 'form'; readonly fields: BlockFields }
  | { readonly kind: 'create'; readonly fields: BlockFields; readonly body: NewBlock }
  | { readonly kind: 'remove'; readonly block: Block }

/** Blocks lists who is refused whatever the rules say, and is where that is begun and ended. */
export function Blocks() {
  const list = usePages('blocks', async (cursor, signal) => {
    return (await ask('listBlocks', { query: { cursor, page_size: 500 }, signal })).body
  })
  const [step, setStep] = useState<Step>()
  const nowMs = useNow()
  const asked = place.value.query.get('new')
  const why = whyNot('operator')
  const canBegin = asked !== null && why === undefined
  useEffect(() => {
    if (canBegin) setStep({ kind: 'form', fields: fieldsAsked(asked) })
  }, [asked, canBegin])
  const close = (): void => {
    setStep(undefined)
    if (place.peek().query.has('new')) setQuery({ new: undefined })
  }
  const items = list.items?.toSorted((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at))
  const over = items?.filter((block) => stateOf(block, nowMs) === 'over') ?? []
  const inForce = items?.filter((block) => stateOf(block, nowMs) !== 'over')
  return (
    <>
      <PageHead title="Blocks" about="Customers, keys and addresses that are refused before any rule is asked.">
        <Button kind="primary" icon="plus" why={why} onClick={() => setStep({ kind: 'form', fields: fieldsAsked('') })}>
          Block somebody
        </Button>
      </PageHead>
      <div class="stack">
        <Card title="In force" beside={inForce && <Badge>{inForce.length}</Badge>} isFlush>
          <Table
            label="Blocks in force"
            columns={[...COLUMNS, button('Unblock', why, (block) => setStep({ kind: 'remove', block }))]}
            rows={inForce}
            keyOf={({ id }) => id}
            problem={list.problem}
            reload={list.reload}
            empty={
              <State icon="check" title="Nobody is blocked">
                Rules, tiers and quotas decide about every request.
              </State>
            }
          />
        </Card>
        {over.length > 0 && (
          <Card title="Ended by themselves" beside={<Badge>{over.length}</Badge>} isFlush>
            <Table
              label="Blocks that ended"
              columns={[
                ...COLUMNS,
                button('Block again', why, (block) => setStep({ kind: 'form', fields: fieldsOf(block) })),
              ]}
              rows={over}
              keyOf={({ id }) => id}
              empty={null}
            />
          </Card>
        )}
        {list.hasMore && (
          <Button isDisabled={list.isLoadingMore} onClick={list.more}>
            Show more
          </Button>
        )}
      </div>
      {step && <Steps step={step} setStep={setStep} close={close} reload={list.reload} />}
    </>
  )
}

interface StepsProps {
  readonly step: Step
  readonly setStep: (step: Step) => void
  readonly close: () => void
  readonly reload: () => void
}

function Steps({ step, setStep, close, reload }: StepsProps) {
  if (step.kind === 'form') {
    return (
      <BlockForm
        fields={step.fields}
        onChange={(fields) => setStep({ kind: 'form', fields })}
        onReady={(body) => setStep({ kind: 'create', fields: step.fields, body })}
        onClose={close}
      />
    )
  }
  if (step.kind === 'create') {
    return (
      <ChangeDialog
        title={`Block ${step.fields.kind === 'key' ? 'this key' : step.fields.who}?`}
        operation="createBlock"
        asked={step}
        isReasonAsked={false}
        isDanger
        confirm="Block"
        said={`${step.fields.kind === 'key' ? 'The key' : step.fields.who} is blocked, on every node.`}
        undo={async ({ body: { id } }) => void (await ask('removeBlock', { params: { block_id: id }, reason: 'undo' }))}
        onBack={() => setStep({ kind: 'form', fields: step.fields })}
        onClose={close}
        onDone={reload}
      />
    )
  }
  return <Unblock block={step.block} close={close} reload={reload} />
}

function Unblock({ block, close, reload }: { block: Block; close: () => void; reload: () => void }) {
  const [asked] = useState({ params: { block_id: block.id }, version: block.version })
  return (
    <ChangeDialog
      title={`Unblock ${whoText(block)}?`}
      operation="removeBlock"
      asked={asked}
      confirm="Unblock"
      said={`${whoText(block)} is not blocked any more.`}
      undo={async () => void (await ask('createBlock', { body: sameAgain(block) }))}
      onClose={close}
      onDone={reload}
    />
  )
}

const COLUMNS: readonly Column<Block>[] = [
  { title: 'Who', cell: (block) => <Who block={block} /> },
  {
    title: 'Why',
    isWordy: true,
    cell: ({ reason }) => <span>{reason ?? <span class="faint">no reason given</span>}</span>,
  },
  { title: 'Since', isTight: true, cell: ({ effective_at }) => <Time at={effective_at} /> },
  { title: 'Until', isTight: true, cell: ({ expires_at }) => <Time at={expires_at} none="without end" /> },
  { title: 'Answer', cell: ({ status, body }) => <Answer status={status} body={body} /> },
]

function button(text: string, why: string | undefined, act: (block: Block) => void): Column<Block> {
  return {
    title: text,
    isTitleHidden: true,
    isTight: true,
    align: 'right',
    cell: (block) => (
      <Button isSmall why={why} label={`${text}: ${whoText(block)}`} onClick={() => act(block)}>
        {text}
      </Button>
    ),
  }
}

function Who({ block }: { readonly block: Block }) {
  const { customer_id, api_key_id, cidr } = block
  const isLater = stateOf(block) === 'later'
  return (
    <span class="row">
      {customer_id !== null && (
        <a class="break" href={`/customers/${encodeURIComponent(customer_id)}`}>
          {customer_id}
        </a>
      )}
      {api_key_id !== null && (
        <>
          <Badge>key</Badge>
          <code title={api_key_id}>{api_key_id.slice(0, 8)}</code>
        </>
      )}
      {cidr !== null && (
        <>
          <Badge>addresses</Badge>
          <code>{cidr}</code>
        </>
      )}
      {isLater && <Badge tone="warn">begins later</Badge>}
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
