import { ask } from '../../api/client.ts'
import type { Webhook } from '../../api/operations.ts'
import { type Column, RecordList } from '../../kit/record-list.tsx'
import { useNewParam } from '../../kit/use-new-param.ts'
import { usePages } from '../../kit/use-pages.ts'
import { customerHref } from '../../state/links.ts'
import { whyNot } from '../../state/session.ts'
import { Button } from '../../ui/button.tsx'
import { Badge, Card, PageHead, State, Time } from '../../ui/parts.tsx'
import { createWebhook } from './webhook-form.tsx'

/** Webhooks lists where events are sent. */
export function Webhooks() {
  const list = usePages(
    'webhooks',
    async (cursor, signal) => (await ask('listWebhooks', { query: { cursor }, signal })).body,
  )
  const why = whyNot('admin')
  const begin = (): void => createWebhook(list.reload)
  useNewParam(why, begin)
  return (
    <>
      <PageHead title="Webhooks" about="Addresses that receive an event when a customer reaches a share of a quota.">
        <Button kind="primary" icon="plus" why={why} onClick={begin}>
          Create a webhook
        </Button>
      </PageHead>
      <Card isFlush>
        <RecordList
          label="Webhooks"
          columns={COLUMNS}
          list={list}
          keyOf={({ id }) => id}
          hrefOf={({ id }) => `/webhooks/${id}`}
          empty={
            <State icon="webhooks" title="There are no webhooks">
              A webhook notifies your systems when a customer reaches 50, 80 or 100 % of a quota.
            </State>
          }
        />
      </Card>
    </>
  )
}

const COLUMNS: readonly Column<Webhook>[] = [
  {
    title: 'Address',
    isWordy: true,
    cell: ({ id, url, description }) => (
      <>
        <a class="break" href={`/webhooks/${id}`}>
          {url}
        </a>
        {description !== '' && <div class="soft break">{description}</div>}
      </>
    ),
  },
  {
    title: 'About',
    cell: ({ customer_id }) =>
      customer_id === null ? (
        <span class="soft">all customers</span>
      ) : (
        <a class="break" href={customerHref(customer_id)}>
          {customer_id}
        </a>
      ),
  },
  { title: 'At', isTight: true, cell: ({ thresholds }) => thresholds.map((each) => `${each} %`).join(', ') },
  { title: 'State', isTight: true, cell: (hook) => <HookState hook={hook} /> },
  { title: 'Changed', isTight: true, cell: ({ updated_at }) => <Time at={updated_at} /> },
]

export function HookState({ hook: { enabled, disabled_reason } }: { readonly hook: Webhook }) {
  if (enabled) return <Badge tone="good">on</Badge>
  return (
    <Badge tone={disabled_reason === null ? 'plain' : 'bad'}>
      {disabled_reason === null ? 'off' : 'disabled by the service'}
    </Badge>
  )
}
