import type { AnyFieldName } from './fields.ts'

// What people call the fields of records. A new field of a record is a line here; the compiler names one that is missing. A hint is
// needed only where the sentence of the API says too little.

export const LABELS: Readonly<Record<AnyFieldName, string>> = {
  id: 'Id',
  name: 'Name',
  tier: 'Tier',
  status: 'Status',
  time_zone: 'Time zone',
  period_anchor: 'Periods begin on',
  metadata: 'Notes',
  reason: 'Reason',
  key: 'API key',
  descriptor: 'For',
  domain: 'Domain',
  rule: 'Rule',
  requests_per_unit: 'Requests',
  unit: 'Per',
  algorithm: 'Algorithm',
  burst: 'Burst',
  all: 'Every rule',
  intent: 'Intent',
  allow_lower: 'May lower limits',
  api_key_id: 'Key',
  ticket: 'Ticket',
  effective_at: 'Begins',
  expires_at: 'Ends',
  amount: 'Amount',
  customer_id: 'Customer',
  api_key: 'API key',
  cidr: 'Address range',
  body: 'Message to the caller',
  role: 'Role',
  url: 'Address',
  secret: 'Secret',
  description: 'Description',
  events: 'Events',
  thresholds: 'Thresholds',
  enabled: 'Send events',
}

export const HINTS: Readonly<Partial<Record<string, string>>> = {
  tier: 'Without a tier, the rules themselves apply.',
  time_zone: 'Days and months of calendar quotas begin in it.',
  period_anchor: 'Optional: the first day of a billing period.',
  metadata: 'One per line, such as “billing id: cus_123”.',
  ticket: 'Optional: where it was requested.',
  body: 'Optional.',
}
