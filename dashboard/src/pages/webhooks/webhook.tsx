import { useEffect, useRef, useState } from 'preact/hooks'
import { ask } from '../../api/client.ts'
import type { MadeWebhook, Webhook, WebhookChange, WebhookDelivery } from '../../api/operations.ts'
import { usePages } from '../../api/pages.ts'
import { useResource } from '../../api/resource.ts'
import type { Params } from '../../app/pages.ts'
import { go } from '../../app/router.ts'
import { whyNot } from '../../app/session.ts'
import { useTitle } from '../../app/title.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeDialog } from '../../ui/change-dialog.tsx'
import { Badge, Card, Notice, PageHead, Skeleton, State, Time, Trouble } from '../../ui/parts.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { messageOf, tell } from '../../ui/toasts.tsx'
import { backOf, changeOf, fieldsOf, type WebhookFields } from './webhook-fields.ts'
import { WebhookForm } from './webhook-form.tsx'
import { HookState, SecretOnce } from './webhooks.tsx'

type Step =
  | { readonly kind: 'form'; readonly fields: WebhookFields }
  | { readonly kind: 'change'; readonly fields: WebhookFields; readonly asked: ChangeAsked }
  | { readonly kind: 'secret' | 'remove' }
  | { readonly kind: 'made'; readonly hook: MadeWebhook }

interface ChangeAsked {
  readonly params: { readonly webhook_id: string }
  readonly version: number
  readonly body: WebhookChange
}

/** OneWebhook is where events are sent, what was sent, and everything that can be done about it. */
export function OneWebhook({ params: { id } }: { readonly params: Params }) {
  const params = { webhook_id: id }
  const hook = useResource(`webhook ${id}`, async (signal) => (await ask('readWebhook', { params, signal })).body)
  useTitle(hook.data === undefined ? 'Webhook' : hostOf(hook.data.url))
  if (hook.data === undefined) {
    return hook.problem ? <Trouble problem={hook.problem} retry={hook.reload} /> : <Skeleton lines={6} />
  }
  return <Shown hook={hook.data} reload={hook.reload} />
}

function Shown({ hook, reload }: { readonly hook: Webhook; readonly reload: () => void }) {
  const [step, setStep] = useState<Step>()
  const deliveries = useDeliveries(hook.id)
  useWhileWaiting(deliveries.items?.some(({ state }) => state === 'waiting') ?? false, deliveries.reload)
  const [whyAdmin, whyOperator] = [whyNot('admin'), whyNot('operator')]
  const test = async (): Promise<void> => {
    try {
      await ask('testWebhook', { params: { webhook_id: hook.id } })
      tell('A test event is under way. What becomes of it stands below.')
      deliveries.reload()
    } catch (error) {
      tell(`The test was not sent: ${messageOf(error)}`, { isBad: true })
    }
  }
  return (
    <>
      <a class="small" href="/webhooks">
        Webhooks
      </a>
      <PageHead title={hostOf(hook.url)} about={hook.description}>
        <Button why={whyOperator} onClick={() => void test()}>
          Send a test
        </Button>
        <Button icon="edit" why={whyAdmin} onClick={() => setStep({ kind: 'form', fields: fieldsOf(hook) })}>
          Change
        </Button>
        <Button why={whyAdmin} onClick={() => setStep({ kind: 'secret' })}>
          New secret
        </Button>
        <Button kind="danger" icon="trash" why={whyAdmin} onClick={() => setStep({ kind: 'remove' })}>
          Remove
        </Button>
      </PageHead>
      <div class="stack">
        {hook.disabled_reason !== null && (
          <Notice tone="warn">The service switched it off: {hook.disabled_reason}</Notice>
        )}
        <Facts hook={hook} />
        <Card title="What was sent" isFlush>
          <Table
            label="Deliveries"
            columns={deliveryColumns(hook.id, whyOperator, deliveries.reload)}
            rows={deliveries.items}
            keyOf={({ id }) => id}
            problem={deliveries.problem}
            reload={deliveries.reload}
            empty={<State icon="webhooks" title="Nothing was sent in the last 30 days" />}
          />
        </Card>
        {deliveries.hasMore && <Button onClick={deliveries.more}>Show older ones</Button>}
      </div>
      {step && <Steps step={step} hook={hook} setStep={setStep} reload={reload} />}
    </>
  )
}

function useDeliveries(id: string) {
  return usePages(`deliveries ${id}`, async (cursor, signal) => {
    return (await ask('listWebhookDeliveries', { params: { webhook_id: id }, query: { cursor }, signal })).body
  })
}

const LOOK_AGAIN_MS = 3_000

/** useWhileWaiting looks again as long as something is under way. */
function useWhileWaiting(isWaiting: boolean, look: () => void): void {
  const latest = useRef(look)
  latest.current = look
  useEffect(() => {
    if (!isWaiting) return
    const timer = setInterval(() => latest.current(), LOOK_AGAIN_MS)
    return () => clearInterval(timer)
  }, [isWaiting])
}

function Facts({ hook }: { readonly hook: Webhook }) {
  const { url, customer_id, thresholds, created_at } = hook
  return (
    <Card>
      <dl class="facts">
        <dt>Address</dt>
        <dd class="break mono">{url}</dd>
        <dt>State</dt>
        <dd>
          <HookState hook={hook} />
        </dd>
        <dt>About</dt>
        <dd>
          {customer_id === null ? (
            'all customers'
          ) : (
            <a href={`/customers/${encodeURIComponent(customer_id)}`}>{customer_id}</a>
          )}
        </dd>
        <dt>At</dt>
        <dd>{thresholds.map((each) => `${each} %`).join(', ')} of a quota</dd>
        <dt>Made</dt>
        <dd>
          <Time at={created_at} />
        </dd>
      </dl>
    </Card>
  )
}

interface StepsProps {
  readonly step: Step
  readonly hook: Webhook
  readonly setStep: (step: Step | undefined) => void
  readonly reload: () => void
}

function Steps({ step, hook, setStep, reload }: StepsProps) {
  const [params] = useState({ webhook_id: hook.id })
  const close = (): void => setStep(undefined)
  if (step.kind === 'made') return <SecretOnce hook={step.hook} onClose={close} />
  if (step.kind === 'form') {
    const ready = (): void => {
      const body = changeOf(step.fields, hook)
      if (body === undefined) close()
      else setStep({ kind: 'change', fields: step.fields, asked: { params, version: hook.version, body } })
    }
    return (
      <WebhookForm
        title="Change the webhook"
        fields={step.fields}
        onChange={(fields) => setStep({ kind: 'form', fields })}
        onReady={ready}
        onClose={close}
      />
    )
  }
  if (step.kind === 'change') {
    return (
      <ChangeDialog
        title="Change the webhook?"
        operation="changeWebhook"
        asked={step.asked}
        confirm="Change"
        said="The webhook was changed."
        undo={async ({ body: { version } }) => {
          await ask('changeWebhook', { params, version, body: backOf(step.asked.body, hook), reason: 'undo' })
        }}
        onBack={() => setStep({ kind: 'form', fields: step.fields })}
        onClose={close}
        onDone={reload}
      />
    )
  }
  return step.kind === 'secret' ? (
    <NewSecret hook={hook} setStep={setStep} reload={reload} />
  ) : (
    <Remove hook={hook} close={close} />
  )
}

function NewSecret({ hook, setStep, reload }: Omit<StepsProps, 'step'>) {
  const [asked] = useState({ params: { webhook_id: hook.id }, body: {} })
  const isMade = useRef(false)
  return (
    <ChangeDialog
      title="Sign with another secret?"
      operation="rotateWebhookSecret"
      asked={asked}
      about={
        <p>For a day, messages have the signature of the former secret, too. After that, only the new one counts.</p>
      }
      confirm="Make a new secret"
      said="The webhook has a new secret."
      onClose={() => !isMade.current && setStep(undefined)}
      onDone={({ body }) => {
        isMade.current = true
        setStep({ kind: 'made', hook: body })
        reload()
      }}
    />
  )
}

function Remove({ hook, close }: { readonly hook: Webhook; readonly close: () => void }) {
  const [asked] = useState({ params: { webhook_id: hook.id }, version: hook.version })
  return (
    <ChangeDialog
      title={`Remove the webhook to ${hostOf(hook.url)}?`}
      operation="removeWebhook"
      asked={asked}
      about={<p>What was sent is forgotten with it. This cannot be undone: a new webhook has another secret.</p>}
      confirm="Remove"
      isDanger
      said="The webhook was removed."
      onClose={close}
      onDone={() => go('/webhooks', { replace: true })}
    />
  )
}

const STATES = { waiting: 'warn', delivered: 'good', failed: 'bad' } as const

function deliveryColumns(
  webhook_id: string,
  why: string | undefined,
  reload: () => void,
): readonly Column<WebhookDelivery>[] {
  const again = async (delivery_id: string): Promise<void> => {
    try {
      await ask('redeliverWebhook', { params: { webhook_id, delivery_id } })
      tell('The event is sent again.')
      reload()
    } catch (error) {
      tell(`It was not sent: ${messageOf(error)}`, { isBad: true })
    }
  }
  return [
    { title: 'When', isTight: true, cell: ({ created_at }) => <Time at={created_at} /> },
    { title: 'Event', isTight: true, cell: ({ event }) => <code>{event}</code> },
    { title: 'State', isTight: true, cell: ({ state }) => <Badge tone={STATES[state]}>{state}</Badge> },
    { title: 'Attempts', isTight: true, align: 'right', cell: ({ attempts }) => attempts },
    {
      title: 'Answer',
      isWordy: true,
      cell: ({ last_status, last_error }) => last_error ?? last_status ?? <span class="faint">none yet</span>,
    },
    { title: 'Next', isTight: true, cell: ({ next_attempt_at }) => <Time at={next_attempt_at} none="–" /> },
    {
      title: 'Send again',
      isTitleHidden: true,
      isTight: true,
      align: 'right',
      cell: ({ id }) => (
        <Button isSmall why={why} label={`Send again: ${id}`} onClick={() => void again(id)}>
          Send again
        </Button>
      ),
    },
  ]
}

function hostOf(url: string): string {
  try {
    return new URL(url).host
  } catch {
    return url
  }
}
