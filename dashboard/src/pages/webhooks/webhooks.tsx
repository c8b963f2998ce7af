import { useEffect, useState } from 'preact/hooks'
import { ask } from '../../api/client.ts'
import type { MadeWebhook, NewWebhook, Webhook } from '../../api/operations.ts'
import { usePages } from '../../api/pages.ts'
import { place, setQuery } from '../../app/router.ts'
import { whyNot } from '../../app/session.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeDialog } from '../../ui/change-dialog.tsx'
import { Once } from '../../ui/once.tsx'
import { Badge, Card, PageHead, State, Time } from '../../ui/parts.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { NO_FIELDS, type WebhookFields } from './webhook-fields.ts'
import { WebhookForm } from './webhook-form.tsx'

type Step =
  | { readonly kind: 'form'; readonly fields: WebhookFields }
  | { readonly kind: 'make'; readonly fields: WebhookFields; readonly body: NewWebhook }
  | { readonly kind: 'made'; readonly hook: MadeWebhook }

/** Webhooks lists where events are sent. */
export function Webhooks() {
  const list = usePages(
    'webhooks',
    async (cursor, signal) => (await ask('listWebhooks', { query: { cursor }, signal })).body,
  )
  const [step, setStep] = useState<Step>()
  const why = whyNot('admin')
  const isAsked = place.value.query.has('new') && why === undefined
  useEffect(() => {
    if (isAsked) setStep({ kind: 'form', fields: NO_FIELDS })
  }, [isAsked])
  const close = (): void => {
    setStep((now) => (now?.kind === 'made' ? now : undefined))
    if (place.peek().query.has('new')) setQuery({ new: undefined })
  }
  return (
    <>
      <PageHead title="Webhooks" about="Addresses that are told when a customer has used so much of a quota.">
        <Button kind="primary" icon="plus" why={why} onClick={() => setStep({ kind: 'form', fields: NO_FIELDS })}>
          Make a webhook
        </Button>
      </PageHead>
      <Card isFlush>
        <Table
          label="Webhooks"
          columns={COLUMNS}
          rows={list.items}
          keyOf={({ id }) => id}
          hrefOf={({ id }) => `/webhooks/${id}`}
          problem={list.problem}
          reload={list.reload}
          empty={
            <State icon="webhooks" title="No address is told of anything">
              A webhook tells your systems when a customer reaches 50, 80 or 100 % of a quota.
            </State>
          }
        />
      </Card>
      {list.hasMore && <Button onClick={list.more}>Show more</Button>}
      {step?.kind === 'form' && (
        <WebhookForm
          title="Make a webhook"
          fields={step.fields}
          onChange={(fields) => setStep({ kind: 'form', fields })}
          onReady={(body) => setStep({ kind: 'make', fields: step.fields, body })}
          onClose={close}
        />
      )}
      {step?.kind === 'make' && (
        <ChangeDialog
          title={`Send events to ${step.body.url}?`}
          operation="createWebhook"
          asked={step}
          confirm="Make"
          said="The webhook was made."
          onBack={() => setStep({ kind: 'form', fields: step.fields })}
          onClose={close}
          onDone={({ body }) => {
            setStep({ kind: 'made', hook: body })
            list.reload()
          }}
        />
      )}
      {step?.kind === 'made' && <SecretOnce hook={step.hook} onClose={() => setStep(undefined)} />}
    </>
  )
}

export function SecretOnce({ hook, onClose }: { readonly hook: MadeWebhook; readonly onClose: () => void }) {
  return (
    <Once
      title="The secret of the webhook"
      label="Secret"
      value={hook.secret}
      hint={`${hook.url} checks the signature of every message with it.`}
      onClose={onClose}
    />
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
        <a class="break" href={`/customers/${encodeURIComponent(customer_id)}`}>
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
      {disabled_reason === null ? 'off' : 'switched off by the service'}
    </Badge>
  )
}
