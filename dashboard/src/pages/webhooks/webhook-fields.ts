import type { NewWebhook, Webhook, WebhookChange } from '../../api/operations.ts'

/** WebhookFields are what the form holds. */
export interface WebhookFields {
  readonly url: string
  readonly description: string
  readonly customer: string
  /** In percent, with commas. */
  readonly thresholds: string
  readonly isEnabled: boolean
}

export const NO_FIELDS: WebhookFields = {
  url: '',
  description: '',
  customer: '',
  thresholds: '50, 80, 100',
  isEnabled: true,
}

export function fieldsOf({ url, description, customer_id, thresholds, enabled }: Webhook): WebhookFields {
  return { url, description, customer: customer_id ?? '', thresholds: thresholds.join(', '), isEnabled: enabled }
}

export type Faults = Readonly<Partial<Record<'url' | 'thresholds', string>>>

/** thresholdsOf reads percentages; undefined: that is not what they are. */
export function thresholdsOf(typed: string): readonly number[] | undefined {
  const parts = typed
    .split(/[\s,;%]+/)
    .filter(Boolean)
    .map(Number)
  const isGood = parts.length > 0 && parts.every((each) => Number.isInteger(each) && each >= 1 && each <= 100)
  return isGood ? [...new Set(parts)].sort((a, b) => a - b) : undefined
}

function faultsOf({ url, thresholds }: WebhookFields): Faults {
  return {
    ...(!/^https?:\/\/\S+$/.test(url.trim()) && { url: 'An address begins with https://.' }),
    ...(thresholdsOf(thresholds) === undefined && { thresholds: 'Percentages such as 50, 80, 100.' }),
  }
}

/** newWebhook is what is sent, or what is wrong. */
export function newWebhook(fields: WebhookFields): { readonly body: NewWebhook } | { readonly faults: Faults } {
  const faults = faultsOf(fields)
  if (Object.keys(faults).length > 0) return { faults }
  return { body: bodyOf(fields) }
}

function bodyOf({ url, description, customer, thresholds, isEnabled }: WebhookFields): NewWebhook {
  return {
    url: url.trim(),
    description: description.trim(),
    customer_id: customer.trim() === '' ? null : customer.trim(),
    thresholds: thresholdsOf(thresholds) ?? [],
    enabled: isEnabled,
  }
}

/** changeOf is what differs from what there is; nothing: undefined. */
export function changeOf(fields: WebhookFields, before: Webhook): WebhookChange | undefined {
  const after = bodyOf(fields)
  const now = bodyOf(fieldsOf(before))
  const differing = Object.entries(after).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(now[name as keyof NewWebhook]),
  )
  return differing.length === 0 ? undefined : Object.fromEntries(differing)
}

/** backOf is the change that takes a change back. */
export function backOf(change: WebhookChange, before: Webhook): WebhookChange {
  return Object.fromEntries(Object.keys(change).map((name) => [name, before[name as keyof Webhook] ?? null]))
}
