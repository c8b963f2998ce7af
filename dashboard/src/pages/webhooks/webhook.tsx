import { useEffect, useRef } from 'preact/hooks'
import { ask } from '../../api/client.ts'
import type { Webhook, WebhookDelivery } from '../../api/operations.ts'
import type { Params } from '../../app/pages.ts'
import { confirmChange } from '../../kit/change-dialog.tsx'
import { actionColumn, type Column, RecordList } from '../../kit/record-list.tsx'
import { messageOf, notify } from '../../kit/toasts.tsx'
import { usePages } from '../../kit/use-pages.ts'
import { useResource } from '../../kit/use-resource.ts'
import { customerHref } from '../../state/links.ts'
import { go } from '../../state/router.ts'
import { whyNot } from '../../state/session.ts'
import { useTitle } from '../../state/title.ts'
import { Button } from '../../ui/button.tsx'
import { Badge, Card, Notice, PageHead, Skeleton, State, Time, Trouble } from '../../ui/parts.tsx'
import { changeWebhook, showSecret } from './webhook-form.tsx'
import { HookState } from './webhooks.tsx'

/** OneWebhook shows where events are sent and what was sent, and offers every change. */
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
  const deliveries = useDeliveries(hook.id)
  useWhileWaiting(deliveries.data?.some(({ state }) => state === 'waiting') ?? false, deliveries.reload)
  const [whyAdmin, whyOperator] = [whyNot('admin'), whyNot('operator')]
  const test = async (): Promise<void> => {
    try {
      await ask('testWebhook', { params: { webhook_id: hook.id } })
      notify('A test event is being sent. Its delivery is listed below.')
      deliveries.reload()
    } catch (error) {
      notify(`The test was not sent: ${messageOf(error)}`, { isBad: true })
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
        <Button icon="edit" why={whyAdmin} onClick={() => changeWebhook(hook, reload)}>
          Change
        </Button>
        <Button why={whyAdmin} onClick={() => rotateSecret(hook, reload)}>
          New secret
        </Button>
        <Button kind="danger" icon="trash" why={whyAdmin} onClick={() => removeWebhook(hook)}>
          Remove
        </Button>
      </PageHead>
      <div class="stack">
        {hook.disabled_reason !== null && <Notice tone="warn">The service disabled it: {hook.disabled_reason}</Notice>}
        <Facts hook={hook} />
        <Card title="What was sent" isFlush>
          <RecordList
            label="Deliveries"
            columns={deliveryColumns(hook.id, whyOperator, deliveries.reload)}
            list={deliveries}
            keyOf={({ id }) => id}
            empty={<State icon="webhooks" title="Nothing was sent in the last 30 days" />}
          />
        </Card>
      </div>
    </>
  )
}

function useDeliveries(id: string) {
  return usePages(`deliveries ${id}`, async (cursor, signal) => {
    return (await ask('listWebhookDeliveries', { params: { webhook_id: id }, query: { cursor }, signal })).body
  })
}

const LOOK_AGAIN_MS = 3_000

/** useWhileWaiting reads again as long as a delivery is waiting. */
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
        <dd>{customer_id === null ? 'all customers' : <a href={customerHref(customer_id)}>{customer_id}</a>}</dd>
        <dt>At</dt>
        <dd>{thresholds.map((each) => `${each} %`).join(', ')} of a quota</dd>
        <dt>Created</dt>
        <dd>
          <Time at={created_at} />
        </dd>
      </dl>
    </Card>
  )
}

function rotateSecret({ id }: Webhook, reload: () => void): void {
  confirmChange({
    title: 'Sign with a new secret',
    operation: 'rotateWebhookSecret',
    asked: { params: { webhook_id: id }, body: {} },
    about: <p>For a day, messages are signed with the former secret, too. After that, only the new one is valid.</p>,
    confirm: 'Create a new secret',
    done: 'The webhook has a new secret.',
    onDone: ({ body }) => {
      reload()
      showSecret(body)
    },
  })
}

function removeWebhook({ id, url, version }: Webhook): void {
  confirmChange({
    title: `Remove the webhook to ${hostOf(url)}`,
    operation: 'removeWebhook',
    asked: { params: { webhook_id: id }, version },
    about: <p>Its deliveries are removed with it. This cannot be undone: a new webhook has another secret.</p>,
    confirm: 'Remove',
    isDanger: true,
    done: 'The webhook was removed.',
    onDone: () => go('/webhooks', { replace: true }),
  })
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
      notify('The event is sent again.')
      reload()
    } catch (error) {
      notify(`It was not sent: ${messageOf(error)}`, { isBad: true })
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
    actionColumn({ title: 'Send again', why, label: ({ id }) => `Send again: ${id}`, run: ({ id }) => void again(id) }),
  ]
}

function hostOf(url: string): string {
  try {
    return new URL(url).host
  } catch {
    return url
  }
}
