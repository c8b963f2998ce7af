import { ask } from '../../api/client.ts'
import type { MadeWebhook, Webhook } from '../../api/operations.ts'
import { openDialog } from '../../kit/dialogs.tsx'
import { openForm } from '../../kit/record-form.tsx'
import { SecretDialog } from '../../kit/secret-dialog.tsx'
import { formerFields } from '../../kit/undo.ts'

const VIEWS = {
  url: { hint: 'Events are sent to it by POST, signed.', missing: 'An address begins with https://.' },
  description: { hint: 'Optional: its purpose.' },
  thresholds: { hint: 'The percentages of a quota that send an event.' },
  customer_id: { label: 'Only for a customer', hint: 'Optional: without one, it receives the events of all.' },
}

/** createWebhook asks for the address of a new webhook. Its secret is shown once. */
export function createWebhook(reload: () => void): void {
  openForm({
    title: 'Create a webhook',
    operation: 'createWebhook',
    without: ['secret', 'events'],
    views: VIEWS,
    typed: { thresholds: '50, 80, 100', enabled: 'true' },
    next: (body) => ({
      title: `Send events to ${body.url}`,
      asked: { body },
      confirm: 'Create',
      done: 'The webhook was created.',
      onDone: ({ body: made }) => {
        reload()
        showSecret(made)
      },
    }),
  })
}

/** changeWebhook changes the fields of a webhook that differ. */
export function changeWebhook(hook: Webhook, reload: () => void): void {
  const params = { webhook_id: hook.id }
  openForm({
    title: 'Change the webhook',
    operation: 'changeWebhook',
    without: ['events'],
    views: VIEWS,
    record: hook,
    next: (read) => {
      const body = formerFields('changeWebhook', { ...read, description: read.description ?? '' }, hook)
      if (Object.keys(body).length === 0) return undefined
      return {
        title: 'Change the webhook',
        asked: { params, version: hook.version, body },
        confirm: 'Change',
        done: 'The webhook was changed.',
        undo: ({ body: after }) =>
          ask('changeWebhook', {
            ...{ params, version: after.version, reason: 'undone in the dashboard' },
            body: formerFields('changeWebhook', hook, after),
          }),
        onDone: reload,
      }
    },
  })
}

/** showSecret shows the secret of a webhook, which the server shows only once. */
export function showSecret({ url, secret }: MadeWebhook): void {
  const hint = `${url} checks the signature of every message with it.`
  openDialog(<SecretDialog title="The secret of the webhook" label="Secret" value={secret} hint={hint} />)
}
